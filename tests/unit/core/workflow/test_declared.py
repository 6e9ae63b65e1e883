# SPDX-License-Identifier: Apache-2.0
"""Documents within declarations: their problems stand among those of the noun, in the words of who declares."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.kube.document import load
from paddleflow_core.model import pipeline, pipeline_run
from paddleflow_core.model.names import option
from paddleflow_core.workflow.declared import Documented, DocumentedRun

from tests.support.workflow import NESTED, around

PIPELINE, RUN = Documented(pipeline, load), DocumentedRun(pipeline_run, load)


def said(noun: Documented, name: str, **spec: Any) -> list[str]:
    return [problem.text(option) for problem in noun.problems(name, spec)]


def test_it_is_the_noun_in_all_else() -> None:
    assert PIPELINE.NOUN is pipeline.NOUN
    assert RUN.build("r", "n", {"document": "x"}) == pipeline_run.build("r", "n", {"document": "x"})
    assert not hasattr(RUN, "nothing")
    assert not hasattr(PIPELINE, "identity")


def test_a_good_document_is_good() -> None:
    assert said(PIPELINE, "digits", document=NESTED) == []
    assert said(RUN, "", document=NESTED, parameters={"make.count": "5"}) == []


def test_a_problem_has_the_place_in_the_document_and_its_line() -> None:
    document = NESTED.replace("deps: make", "deps: Make")
    (problem, *_rest) = PIPELINE.problems("digits", {"document": document})
    assert problem.text(option) == (
        "document: entry_points.work.deps (line 14) is on 'Make', but must be make, total. "
        "A component waits for components of its own DAG only. [Y-11]"
    )
    assert problem.code == "InvalidPipeline"
    first, *_others = said(PIPELINE, "digits", document=document, src="pipelines/digits.yaml")
    assert "entry_points.work.deps (pipelines/digits.yaml, line 14) is on 'Make'" in first


def test_a_problem_of_the_whole_has_no_place() -> None:
    assert said(RUN, "", document="a: [")[0].startswith("document is no YAML:")
    assert said(RUN, "", document="a: [", src="a.yaml")[0].startswith("document: (a.yaml) is no YAML:")


def test_names_within_a_document_are_not_those_of_options() -> None:
    (line,) = said(PIPELINE, "demo", document=around("{makeIt: {parameters: {maxCount: null}}}"))
    assert line.startswith("document: entry_points.makeIt.parameters.maxCount (line 4) is null")


def test_what_a_run_says_beside_its_document_is_told_by_its_options() -> None:
    (line,) = said(RUN, "", document=NESTED, parameters={"make.maxCount": "1"})
    assert line.startswith("parameters: make.maxCount is not known to make, but must be one of its parameters, count.")
    (line,) = said(RUN, "", document=NESTED, disabled=["x"])
    assert line.startswith("disabled is 'x', but must be names of components, ")
    (line,) = said(RUN, "", document=NESTED, fileSystem="other")
    assert line.startswith("document: fs_options.main_fs.name (line 5) is 'lab', but must be other, as the run says.")
    (line,) = said(RUN, "", document=NESTED, image="i.tar")
    assert line.startswith("image is 'i.tar', but must be an image of a registry")


def test_a_document_without_a_name_has_that_of_the_pipeline_or_run() -> None:
    document = around("{a: {}}", name=None)
    assert said(PIPELINE, "any", document=document) == []
    assert said(RUN, "", document=document, runName="any") == []
    (line,) = said(RUN, "", document=document)
    assert line.startswith("document: name (line 1) is missing, but must be the name of the pipeline.")


def test_a_pipeline_has_the_name_of_its_document() -> None:
    (line,) = said(PIPELINE, "letters", document=NESTED)
    assert line.startswith("document: name (line 1) is 'digits', but must be letters, as the pipeline.")
    assert said(PIPELINE, "12", document=around("{a: {}}", name="12"))[0].startswith(
        "document: name (line 1) is 12, but"
    )


@pytest.mark.parametrize("document", ["[]", "", "a", "12"])
def test_what_is_no_mapping_is_no_document(document: str) -> None:
    assert "but must be a mapping. [Y-1]" in said(PIPELINE, "a", document=document)[0]


def test_keys_that_are_given_twice_are_told_with_all_else() -> None:
    found = said(PIPELINE, "demo", document="name: demo\nname: demo\nentry_points: {a: {command: 1, docker_env: i}}\n")
    assert [line.partition(" is ")[0] for line in found] == [
        "document: name (line 1)",
        "document: entry_points.a.command (line 3)",
    ]


def test_a_document_that_is_too_large_is_not_read() -> None:
    (line,) = said(RUN, "", document="é" * 40000)
    assert line.startswith(
        "document is 80000 bytes of UTF-8, but must be at most 65536 bytes. Declare it as a pipeline"
    )


def test_what_is_worth_a_look_is_told_apart() -> None:
    document = around("{a: {}}", parallelism="99")
    assert said(PIPELINE, "demo", document=document) == []
    (line,) = PIPELINE.remarks("demo", {"document": document})
    assert line.startswith("parallelism is 99, but must be a whole number from 1 to 20. 20 is taken.")
    assert RUN.remarks("", {"pipeline": {"name": "demo"}}) == []


def test_a_run_is_named_after_its_document() -> None:
    spec = {"document": NESTED, "runKey": "k"}
    assert RUN.identity("", spec, "u").startswith("digits-")
    assert RUN.identity("", spec, "u") == RUN.identity("", dict(spec), "v")
    assert RUN.identity("given", spec, "u") == "given"
    assert RUN.identity("", {"pipeline": {"name": "p"}}, "u").startswith("p-")
    assert RUN.identity("", {"document": "a: [", "runKey": "k"}, "u").startswith("run-")


def test_no_document_is_read_twice() -> None:
    read: list[str] = []

    def counted(text: str) -> Any:
        read.append(text)
        return load(text)

    run, spec = DocumentedRun(pipeline_run, counted), {"document": NESTED, "runKey": "k"}
    assert list(run.problems("", spec)) == []
    run.remarks(run.identity("", spec, "u"), spec)
    assert read == [NESTED]
