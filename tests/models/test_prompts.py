import json
from pathlib import Path

import pytest

from tiny_models import byte_tokenizer
from univer.bench import load_prompts
from univer.models.prompts import encode


def test_our_own_prompts_are_six_kinds_in_turn() -> None:
    prompts = load_prompts()
    assert len(prompts) == 36
    assert len({prompt.kind for prompt in prompts}) == 6
    assert len({prompt.text for prompt in prompts}) == 36
    assert len({prompt.kind for prompt in load_prompts(limit=6)}) == 6


def test_a_file_in_the_format_of_spec_bench(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"question_id": 81, "category": "writing", "turns": ["One", "Two"]}\n\n'
        '{"question_id": 82, "category": "writing", "turns": ["Three"]}\n'
        '{"question_id": 83, "category": "rag", "turns": ["Four"]}\n',
        encoding="utf-8",
    )
    assert [(prompt.name, prompt.text, prompt.later) for prompt in load_prompts(path)] == [
        ("81", "One", ("Two",)),
        ("83", "Four", ()),
        ("82", "Three", ()),
    ]


@pytest.mark.parametrize(
    "line", ["no json", "{}", '{"turns": []}', "[1]", '{"turns": [3]}', '{"text": null}', '{"text": " "}']
)
def test_a_broken_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"turns": ["fine"]}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"questions\.jsonl, line 2: (no JSON|no prompt|an empty text)"):
        load_prompts(path)
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match="cannot be read as text in UTF-8"):
        load_prompts(path)
    with pytest.raises(ValueError, match="cannot be read"):
        load_prompts(tmp_path / "missing.jsonl")
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no prompts"):
        load_prompts(path)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"question_id": 7, "text": "b"}, "two prompts are called '7'"),
        ({"question_id": "1", "text": "b", "kind": "all"}, "line 2: the kind 'all' is the name for all prompts"),
        ({"text": "bad \ud800 text"}, "line 2: half of a surrogate pair"),
        ({"text": "b", "kind": "\x1b[31mred"}, "line 2: a control character"),
    ],
)
def test_what_results_could_not_tell_or_models_not_read_is_refused(
    second: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question_id": 7, "text": "a"}\n' + json.dumps(second) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_prompts(path)


def test_json_without_end_is_no_prompt(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: no JSON"):
        load_prompts(path)


def test_names_and_kinds_stay_on_a_line(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({"question_id": "a\nb", "category": " two\r\nlines", "turns": ["x"]}), encoding="utf-8")
    [prompt] = load_prompts(path)
    assert (prompt.name, prompt.kind) == ("a b", "two lines")


def test_a_byte_order_mark_is_no_part_of_a_prompt(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"text": "a"}\n', encoding="utf-8-sig")
    assert [prompt.text for prompt in load_prompts(path)] == ["a"]


def test_the_chat_template_is_used_once() -> None:
    tokenizer = byte_tokenizer()
    ids = encode(tokenizer, "hi")
    assert tokenizer.decode(ids[0]) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    tokenizer.chat_template = None
    assert tokenizer.decode(encode(tokenizer, "hi")[0]) == "hi"


def test_earlier_turns_go_through_the_template_as_well() -> None:
    tokenizer = byte_tokenizer()
    ids = encode(tokenizer, "more", [("hi", "yes?")])
    assert tokenizer.decode(ids[0]) == (
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyes?<|im_end|>\n"
        "<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\n"
    )
    tokenizer.chat_template = None
    assert tokenizer.decode(encode(tokenizer, "more", [("hi", "yes?")])[0]) == "hi\n\nyes?\n\nmore"
