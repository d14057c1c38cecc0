"""Which frame a page shows."""

import pytest

from nonstick.pictures.page.live import Player, at_same_time


@pytest.fixture
def player():
    made = Player(fps=10.0)
    made.extend(range(5))
    return made


def test_playing_goes_on_at_the_speed_of_the_run_and_begins_again(player):
    player.playing = True
    seen = []
    for _ in range(14):
        player.tick(0.05)
        seen.append(player.number)
    assert seen == [0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 1, 1, 2]


def test_speed(player):
    player.playing, player.speed = True, 0.5
    assert not player.tick(0.1)
    assert player.tick(0.1) and player.number == 1


def test_nothing_moves_that_does_not_play(player):
    assert not player.tick(10.0) and player.number == 0


def test_going_to_a_frame_stops_playing_and_following(player):
    player.playing = player.follow = True
    player.go(3)
    assert (player.number, player.playing, player.follow) == (3, False, False)


def test_following_goes_to_every_new_frame(player):
    player.follow = True
    player.extend(range(8))
    assert player.number == 7
    player.go(2)
    player.extend(range(9))
    assert player.number == 2


def test_frames_that_are_deleted_are_left(player):
    player.go(4)
    player.extend([0, 1, 2])
    assert player.number == 2


def test_frames_with_gaps(player):
    player.extend([0, 5, 10])
    player.playing = True
    player.tick(0.1)
    assert player.number == 0  # the frame at this time is the one before the gap
    player.step(1)
    assert player.number == 5
    player.step(-2)
    assert player.number == 10


def test_ahead_begins_here_and_goes_round(player):
    player.go(3)
    assert player.ahead(10) == [3, 4, 0, 1, 2]


def test_a_run_without_frames():
    player = Player(60.0)
    player.playing = True
    assert not player.tick(1.0) and player.ahead(3) == [] and player.nearest(7) == 0
    player.step(1)
    assert at_same_time([], 60.0, 3, 60.0) is None
