// Untrusted texts, states as trees, and paths that were tried: what the page says, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf } from "../src/parts/markdown.ts";
import { readPath, treeOf, withPath, wordsOf } from "../src/what_if/tried.ts";
import { givenLine, treeRows, withWords } from "../src/words/tree.ts";
import { counted, plural, shortened, visible, visibleAnswer } from "../src/words/visible.ts";

test("every code unit is shown, as itself or as an escape", () => {
  for (let code = 0; code < 0x10000; code += 1) {
    const text = `a${String.fromCharCode(code)}b`;
    const shown = visible(text);
    if (shown === text) continue;
    assert.match(shown, /^a\\(n|r|t|u[0-9a-f]{4})b$/);
    assert.equal(JSON.parse(`"${shown}"`), text);
  }
});

test("marks of direction are escaped, letters and emoji are not", () => {
  assert.equal(visible("a\u202eb\u200bc"), "a\\u202eb\\u200bc");
  assert.equal(visible("Zürich → 🙂 CANVASS"), "Zürich → 🙂 CANVASS");
  assert.equal(visible("\ud83d alone"), "\\ud83d alone");
});

test("an answer keeps its structure, and a field may be called __proto__", () => {
  const answer = visibleAnswer('{"__proto__": ["\\u202e", 1, null], "a\\nb": {}}');
  assert.deepEqual(Object.entries(answer as object), [
    ["__proto__", ["\\u202e", 1, null]],
    ["a\\nb", {}],
  ]);
});

test("numbers and names in words", () => {
  assert.equal(plural(1, "step"), "1 step");
  assert.equal(plural(1234, "entry", "entries"), "1,234 entries");
  assert.equal(counted(["OnVote", "Restart", "OnVote"]), "OnVote ×2, Restart");
  assert.equal(shortened("CANVASS", 7), "CANVASS");
  assert.equal(shortened("CANDIDATE", 7), "CANDID…");
});

test("a tree marks what is changed, added and removed", () => {
  const rows = treeRows({ same: 1, changed: [1, 2], added: {} }, { same: 1, changed: [1], removed: "x" });
  assert.deepEqual(
    rows.map((row) => [row.name, row.difference, row.text, row.before, row.differing]),
    [
      ["same", "same", "1", "1", 0],
      ["changed", "changed", "1, 2", "1", 1],
      ["added", "added", "empty", "", 1],
      ["removed", "removed", "", "x", 1],
    ],
  );
});

test("a long value has a row for each part, and counts the parts that differ", () => {
  const log = Array.from({ length: 30 }, (_, at) => ({ term: 0, position: 32 * at }));
  const [row] = treeRows({ log: [...log, { term: 1, position: 960 }] }, { log });
  assert.deepEqual([row?.difference, row?.text, row?.differing], ["changed", "", 1]);
  assert.deepEqual([row?.inner.length, row?.inner.at(-1)?.difference], [31, "added"]);
  assert.equal(row?.inner.at(-1)?.path, "log.30");
});

test("messages and the tuples of a history in words", () => {
  const vote = { from: 1, message: { type: "Vote", candidateTermId: 2, vote: true } };
  assert.equal(givenLine([vote]), "from 1: Vote candidateTermId 2, vote true");
  assert.deepEqual(withWords({ hist: { leaders: [[1, 0]], votes: [[2, 1, 0]], acked: [] } }), {
    hist: { leaders: ["term 1: member 0"], votes: ["member 2 for member 0 in term 1"], acked: [] },
  });
});

test("tried paths: one that another continues is left out, and the tree has each step once", () => {
  const steps = ["1.Canvass", "0-1.Vote", "2.Tick.timeout"];
  let tried: string | undefined;
  for (const one of steps) {
    tried = withPath(tried, [one]);
    for (const other of steps) tried = withPath(tried, [one, other]);
  }
  const tree = treeOf(tried);
  assert.deepEqual(tree.map((one) => one.path), steps.map((one) => [one]));
  assert.deepEqual(tree.map((one) => one.next.length), [3, 3, 3]);
  assert.equal(withPath(tried, ["1.Canvass"]), tried);
  assert.deepEqual(treeOf(undefined), []);
  assert.deepEqual(readPath(""), []);
});

test("the name of a step as words", () => {
  assert.equal(wordsOf("1.Canvass.timeout"), "1 Canvass, timeout");
  assert.equal(wordsOf("0-1.Vote.active01.position96"), "0 → 1 Vote, active 0 1, position 96");
});

test("a page of the project as blocks", () => {
  const text = "# HZ1\n\nA [report](x.md) of **another** log\ncounts.\n\n```\n  a  b\n```\n## Next\nEnd";
  assert.deepEqual(blocksOf(text), [
    { kind: "heading", text: "HZ1" },
    { kind: "paragraph", text: "A report of another log counts." },
    { kind: "code", text: "  a  b" },
    { kind: "heading", text: "Next" },
    { kind: "paragraph", text: "End" },
  ]);
});
