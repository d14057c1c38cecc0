"""Some rows of a problem file, for one of many ranks."""

import numpy as np
import pytest

from nonstick import NonstickError, cases, save_problem
from nonstick.files.problem_file import read_rows


@pytest.mark.parametrize("compressed", [False, True])
def test_rows_of_a_problem_are_read_without_the_others(tmp_path, compressed):
    case = cases.build("sphere3d", 8).problem
    path, M = tmp_path / "p.npz", case.A.matrix()
    save = np.savez_compressed if compressed else np.savez
    save(
        path, A_data=M.data, A_indices=M.indices, A_indptr=M.indptr, b=case.b, lower=case.box.lower, cells=case.A.cells
    )
    low, high = 20, 57
    part = read_rows(path, lambda n: (low, high))
    assert part.A.shape == (high - low, case.n) and not (M[low:high] != part.A).nnz
    np.testing.assert_array_equal(part.b, case.b[low:high])
    np.testing.assert_array_equal(part.lower, case.box.lower[low:high])
    np.testing.assert_array_equal(part.cells, case.A.cells[low:high])
    assert part.upper == np.inf
    with pytest.raises(NonstickError, match="too few rows"):
        read_rows(path, lambda n: (low, n + 1))


def test_rows_of_other_files_come_from_the_whole_problem(tmp_path):
    case = cases.build("circle2d", 8).problem
    save_problem(tmp_path / "p.mtx", case)
    part, M = read_rows(tmp_path / "p.mtx", lambda n: (3, n)), case.A.matrix()
    assert np.abs(part.A - M[3:]).max() < 1e-12 * np.abs(M).max()
    np.testing.assert_allclose(part.b, case.b[3:])
