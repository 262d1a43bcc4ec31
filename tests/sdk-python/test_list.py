"""Sandboxes are found again by what was noted at their creation."""

import uuid
from datetime import datetime, timezone

import pytest
from e2b import Sandbox, SandboxQuery, SandboxState


@pytest.fixture
def tag():
    """Something that no other test notes."""
    return {"test": uuid.uuid4().hex}


def ids(paginator):
    found = []
    while paginator.has_next:
        found += [info.sandbox_id for info in paginator.next_items()]
    return found


def test_metadata_filter(create, tag):
    mine, _ = create(metadata=tag), create(metadata={"test": "other"})
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag))) == [mine.sandbox_id]


@pytest.mark.parametrize(
    "odd",
    [
        {"a b": "c&d"},
        {"plus+sign": "1+1=2"},
        {"per%cent": "100%25"},
        {"ключ": "значение"},
        {"emoji": "😀/?#"},
        {"quote\"'": "line\nbreak"},
    ],
    ids=["space", "plus", "percent", "cyrillic", "emoji", "quotes"],
)
def test_metadata_filter_with_odd_characters(create, tag, odd):
    mine, _ = create(metadata=tag | odd), create(metadata=tag)
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag | odd))) == [mine.sandbox_id]
    assert mine.get_info().metadata == tag | odd


def test_all_pairs_must_match(create, tag):
    create(metadata=tag | {"a": "1"})
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag | {"a": "2"}))) == []


def test_pages(create, tag):
    made = [create(metadata=tag).sandbox_id for _ in range(5)]
    query = SandboxQuery(metadata=tag)
    paginator, pages = Sandbox.list(query=query, limit=2), []
    while paginator.has_next:
        pages.append([info.sandbox_id for info in paginator.next_items()])
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sum(pages, []) == made[::-1]
    assert ids(Sandbox.list(query=query, limit=2, order="asc")) == made


def test_a_page_can_be_resumed_by_its_token(create, tag):
    made = [create(metadata=tag).sandbox_id for _ in range(2)]
    query = SandboxQuery(metadata=tag)
    first = Sandbox.list(query=query, limit=1, order="asc")
    first.next_items()
    assert ids(Sandbox.list(query=query, limit=1, order="asc", next_token=first.next_token)) == made[1:]


def test_state_filter(create, tag):
    mine = create(metadata=tag)
    running = SandboxQuery(metadata=tag, state=[SandboxState.RUNNING])
    assert ids(Sandbox.list(query=running)) == [mine.sandbox_id]
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag, state=[SandboxState.PAUSED]))) == []


def test_template_filter(create, interpret, tag):
    mine, other = create(metadata=tag), interpret(metadata=tag)
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag, template="base"))) == [mine.sandbox_id]
    by_id = SandboxQuery(metadata=tag, template=other.get_info().template_id)
    assert ids(Sandbox.list(query=by_id)) == [other.sandbox_id]


def test_started_after(create, tag):
    create(metadata=tag)
    between = datetime.now(timezone.utc)
    late = create(metadata=tag)
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag, started_after=between))) == [late.sandbox_id]


def test_killed_ones_are_not_listed(create, tag):
    create(metadata=tag).kill()
    assert ids(Sandbox.list(query=SandboxQuery(metadata=tag))) == []


def test_old_listing(api, create, tag):
    mine = create(metadata=tag)
    answer = api.get("/sandboxes", params={"metadata": f"test={tag['test']}"})
    assert [entry["sandboxID"] for entry in answer.json()] == [mine.sandbox_id]
