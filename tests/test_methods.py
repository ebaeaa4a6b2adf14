from importlib import import_module

import pytest

from random_trees import METHODS, random_tree, tree_for
from univer import Method, methods, outcome_law, register
from univer.couplings import Stepwise
from univer.methods import BUILT_IN, OTHER, Colour, resolve
from univer.rules import Membership

NAMES = [
    "token",
    "block",
    "rrs",
    "rrs-lifted",
    "rrsw",
    "traversal",
    "spectr",
    "spectr-lifted",
    "greedy",
    "univer",
    "membership",
    "mixed",
    "univer-mixed",
    "optimal",
    "optimal-lifted",
]


def test_every_cell_of_the_table_is_a_method() -> None:
    assert list(METHODS) == NAMES
    assert all(method.exact and method.paper for method in methods().values())


def test_every_built_in_method_has_a_title_a_sentence_and_the_colour_of_its_rule() -> None:
    built_in = [methods()[name] for name in NAMES]
    assert len({method.title for method in built_in}) == len(NAMES)
    assert all(method.description.endswith(".") for method in built_in)
    looks = {(type(method.rule), method.colour) for method in built_in}
    assert len(looks) == len({rule for rule, _ in looks}) == len({colour.light for _, colour in looks})


def test_a_method_without_a_title_is_called_by_its_name_and_colours_are_checked() -> None:
    mine = Method("mine", Membership(), Stepwise(), "of my own")
    assert (mine.title, mine.colour) == ("mine", OTHER)
    with pytest.raises(ValueError, match="written as #rrggbb in lower case, got '#FFF'"):
        Colour("#FFF", "#000000")


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'unver'; known are token, block"):
        resolve("unver")
    with pytest.raises(TypeError, match=r"a name or a univer\.Method"):
        resolve(3)  # type: ignore[arg-type]


def test_a_registered_method_is_known_and_shown_as_lossy() -> None:
    mine = Method("mine", Membership(), Stepwise(), "of my own", exact=False)
    try:
        assert register(mine) is methods()["mine"] is resolve("mine") is resolve(mine)
        assert not methods()["mine"].exact
        with pytest.raises(ValueError, match="exists already"):
            register(mine)
    finally:
        from univer.methods import _registry

        del _registry["mine"]
    with pytest.raises(TypeError, match=r"takes a univer.Method"):
        register(Membership())  # type: ignore[arg-type]


class Entry:
    """An entry point of a package, as importlib.metadata gives it."""

    dist = None

    def __init__(self, name: str, found: object) -> None:
        self.name, self.value, self._found = name, f"package:{name}", found

    def load(self) -> object:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def test_a_broken_entry_point_takes_no_other_method_away(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("univer.methods")
    mine = Method("mine", Membership(), Stepwise(), "of a package")
    entries = [Entry("broken", AttributeError("no such thing")), Entry("mine", mine)]
    monkeypatch.setattr(module, "entry_points", lambda group: entries)
    monkeypatch.setattr(module, "_registry", dict(module._registry))
    module._load_entry_points.cache_clear()
    with pytest.warns(UserWarning, match="'broken' of package:broken is left out: no such thing"):
        assert methods()["mine"] is mine
    assert resolve("univer").name == "univer"


MISFITS = [
    ("univer", "swor", "2x2", "sampling scheme 'greedy'"),
    ("greedy", "iid", "2x2", "sampling scheme 'greedy'"),
    ("rrsw", "greedy", "2x2", "sampling scheme 'swor'"),
    ("traversal", "iid", "2x2", "sampling scheme 'swor'"),
    ("rrs", "swor", "2x2", "sampling scheme 'iid'"),
    ("spectr", "greedy", "2x2", "sampling scheme 'iid'"),
    ("token", "swor", "2x2", "sampling scheme 'chain'"),
    ("block", "fixed", "chain-2", "sampling scheme 'chain'"),
    ("mixed", "iid", "2x2", "sampling scheme 'mixed'"),
    ("univer-mixed", "iid", "2x2", "sampling scheme 'mixed'"),
]


@pytest.mark.parametrize(("method", "law", "spec", "message"), MISFITS)
def test_a_misfit_is_refused_with_the_law_needed(method: str, law: str, spec: str, message: str) -> None:
    tree, target = random_tree(law, spec, 6, seed=0)
    with pytest.raises(ValueError, match=f"'{method}' needs a tree drawn by the {message}"):
        outcome_law(tree, target, method)


FITS = [
    *(("membership", law) for law in ("iid", "swor", "fixed", "greedy", "mixed")),
    *((method, law) for method in ("mixed", "univer-mixed") for law in ("swor", "fixed", "greedy", "mixed")),
    *((method, "fixed") for method in ("greedy", "univer")),
    *(("optimal-lifted", law) for law in ("iid", "swor", "fixed", "greedy", "mixed")),
]


@pytest.mark.parametrize(("method", "law"), FITS)
def test_a_tree_of_another_law_that_fits_is_taken(method: str, law: str) -> None:
    tree, target = random_tree(law, "2x2", 5, seed=1)
    assert outcome_law(tree, target, method).sum().item() == pytest.approx(1)


@pytest.mark.parametrize("method", ["token", "block", "rrs", "rrsw", "spectr", "univer", "mixed"])
@pytest.mark.parametrize("law", ["iid", "swor", "greedy", "chain"])
def test_one_sampled_child_per_node_is_a_chain_under_every_law(method: str, law: str) -> None:
    tree, target = random_tree(law, "chain-3", 8, seed=2)
    assert outcome_law(tree, target, method).sum().item() == pytest.approx(1)


def test_orders_are_checked() -> None:
    tree, target = tree_for("univer", 0)
    with pytest.raises(ValueError, match="unknown sibling order 'best'; known are drawn"):
        outcome_law(tree, target, "univer", order="best")
    tree.planned = False
    with pytest.raises(ValueError, match="'gain' needs a tree whose slots are those planned"):
        outcome_law(tree, target, "univer", order="gain")
    outcome_law(tree, target, "greedy", order="gain")  # a stepwise coupling ignores the order


def test_the_rows_of_built_in_methods_are_what_the_methods_are() -> None:
    known = methods()
    for row in BUILT_IN:
        method = known[row.name]
        assert (row.rule, row.draft_law, row.coupling) == (
            type(method.rule).__name__,
            method.draft_law,
            method.coupling.name,
        )
