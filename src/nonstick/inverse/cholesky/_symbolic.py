"""Which columns are eliminated together, and which rows each elimination reaches: kernels on the pattern of a matrix.

Patterns are symmetric, with sorted rows that hold the diagonal. Nodes are numbered in the order of elimination.
"""

import numpy as np

from ...kernels import serial


@serial
def _gather_alike(group, indices, indptr):
    """Number the groups of coupled rows that have equal patterns, such as the unknowns of one point; their count."""
    n = group.size
    key = np.zeros(n, np.uint64)
    for i in range(n):
        total = np.uint64(0)
        for q in range(indptr[i], indptr[i + 1]):
            word = np.uint64(indices[q]) * np.uint64(0x9E3779B97F4A7C15)
            total += (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        key[i] = total
    count = 0
    for i in range(n):
        group[i] = -1
        length = indptr[i + 1] - indptr[i]
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j >= i:
                break
            if key[j] == key[i] and indptr[j + 1] - indptr[j] == length:
                equal = True
                for e in range(length):
                    if indices[indptr[i] + e] != indices[indptr[j] + e]:
                        equal = False
                        break
                if equal:
                    group[i] = group[j]
                    break
        if group[i] < 0:
            group[i] = count
            count += 1
    return count


@serial
def _elimination_tree(parent, indices, indptr, order, place):
    """Liu's algorithm: parent[j] is the first row below the diagonal of column j of the factor, -1 at a root."""
    n = parent.size
    ancestor = np.full(n, -1, np.int64)
    for j in range(n):
        parent[j] = -1
        row = order[j]
        for q in range(indptr[row], indptr[row + 1]):
            i = place[indices[q]]
            while i != -1 and i < j:
                following = ancestor[i]
                ancestor[i] = j
                if following == -1:
                    parent[i] = j
                i = following


@serial
def _postorder(post, parent):
    """Children before their parents, subtrees together: post[k] is the k-th node."""
    n = parent.size
    head, following, stack = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.empty(n, np.int64)
    for j in range(n - 1, -1, -1):
        if parent[j] != -1:
            following[j] = head[parent[j]]
            head[parent[j]] = j
    k = 0
    for root in range(n):
        if parent[root] != -1:
            continue
        top = 0
        stack[0] = root
        while top >= 0:
            j = stack[top]
            child = head[j]
            if child == -1:
                post[k] = j
                k += 1
                top -= 1
            else:
                head[j] = following[child]
                top += 1
                stack[top] = child


@serial
def _count_rows(rows, below, parent, weight, indices, indptr, order, place):
    """The nodes below the diagonal of each column of the factor, and the unknowns that they stand for."""
    n = parent.size
    mark = np.full(n, -1, np.int64)
    rows[:] = 0
    below[:] = 0
    for i in range(n):
        mark[i] = i
        row = order[i]
        for q in range(indptr[row], indptr[row + 1]):
            j = place[indices[q]]
            while j < i and mark[j] != i:
                mark[j] = i
                rows[j] += 1
                below[j] += weight[i]
                j = parent[j]


@serial
def _gather_columns(first, parent, below, weight, early):
    """Columns that are eliminated together, none of them on both sides of `early`: first[s] is the first of each,
    then n; their count.

    Columns of equal structure are, and children join their parent if that adds few zeros (as in CHOLMOD).
    """
    n = parent.size
    width, zeros = np.empty(n + 1, np.int64), np.empty(n + 1)  # unknowns and added zeros of what is on the stack
    count = 0
    j = 0
    while j < n:
        last = j
        wide = weight[j]
        while (
            last + 1 < n
            and last + 1 != early
            and parent[last] == last + 1
            and below[last] == below[last + 1] + weight[last + 1]
        ):
            last += 1
            wide += weight[last]
        begin, added = j, 0.0
        while count > 0:
            t = count - 1
            up = parent[begin - 1]
            if up < begin or up > last or begin == early:
                break
            both = width[t] + wide
            saved = 0.5 * width[t] * (width[t] + 1.0) + float(width[t]) * below[begin - 1]
            spent = 0.5 * width[t] * (width[t] + 1.0) + float(width[t]) * (wide + below[last])
            total = 0.5 * both * (both + 1.0) + float(both) * below[last]
            more = added + zeros[t] + spent - saved
            part = more / total
            if not (both <= 8 or (both <= 24 and part < 0.5) or (both <= 64 and part < 0.1) or part < 0.03):
                break
            begin, wide, added = first[t], both, more
            count -= 1
        first[count], width[count], zeros[count] = begin, wide, added
        count += 1
        j = last + 1
    first[count] = n
    return count


@serial
def _list_rows(rows, start, owner, parent_front, first, fronts, indices, indptr, order, place):
    """rows[start[s]:start[s + 1]]: the nodes that front s updates, ascending; the front that takes its update."""
    n = owner.size
    mark = np.full(n, -1, np.int64)
    head, following = np.full(fronts, -1, np.int64), np.full(fronts, -1, np.int64)
    for s in range(fronts):
        last = first[s + 1] - 1
        k = start[s]
        for j in range(first[s], first[s + 1]):
            row = order[j]
            for q in range(indptr[row], indptr[row + 1]):
                i = place[indices[q]]
                if i > last and mark[i] != s:
                    mark[i] = s
                    rows[k] = i
                    k += 1
        child = head[s]
        while child != -1:
            for q in range(start[child], start[child + 1]):
                i = rows[q]
                if i > last and mark[i] != s:
                    mark[i] = s
                    rows[k] = i
                    k += 1
            child = following[child]
        rows[start[s] : k].sort()
        parent_front[s] = -1
        if k > start[s]:
            up = owner[rows[start[s]]]
            parent_front[s] = up
            following[s] = head[up]
            head[up] = s
        if k != start[s + 1]:
            return False
    return True


@serial
def _largest_stack(tall, parent, last):
    """What waits on the stack at most, while children lie below the update of their parent.

    The numbers that `tall` rows of each front leave wait in order; `last` is the first front whose early children stay.
    """
    waiting, begins = np.empty(tall.size, np.int64), np.zeros(tall.size + 1, np.int64)
    count = most = 0
    for s in range(tall.size):
        size = tall[s] * tall[s]
        most = max(most, begins[count] + size)
        for k in range(count - 1, -1, -1):
            if waiting[k] >= 0 and parent[waiting[k]] == s:
                waiting[k] = -1
            elif s < last:
                break
        while count > 0 and waiting[count - 1] < 0:
            count -= 1
        if size > 0:
            waiting[count] = s
            begins[count + 1] = begins[count] + size
            count += 1
    return most
