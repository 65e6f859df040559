/** The worker that colours code. Each language is a file of its own, loaded when a block needs it. */
import type { LanguageFn } from "highlight.js";
import highlighter from "highlight.js/lib/core";
import { piecesOf } from "../model/syntax.ts";

const languages: Readonly<Record<string, () => Promise<{ default: LanguageFn }>>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  css: () => import("highlight.js/lib/languages/css"),
  diff: () => import("highlight.js/lib/languages/diff"),
  go: () => import("highlight.js/lib/languages/go"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  python: () => import("highlight.js/lib/languages/python"),
  rust: () => import("highlight.js/lib/languages/rust"),
  sql: () => import("highlight.js/lib/languages/sql"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

const aliases: Readonly<Record<string, string>> = {
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  ts: "typescript",
  tsx: "typescript",
  py: "python",
  rs: "rust",
  yml: "yaml",
  html: "xml",
  svg: "xml",
  md: "markdown",
  "c++": "cpp",
  h: "c",
  patch: "diff",
  jsonc: "json",
};

const longestLine = 1_000;
const mostLines = 2_000;

addEventListener("message", async ({ data }: MessageEvent<{ id: number; code: string; language: string }>) => {
  const { id, code } = data;
  const name = aliases[data.language] ?? data.language;
  const load = Object.hasOwn(languages, name) ? languages[name] : undefined;
  const lines = code.split("\n");
  const isTooLong = lines.length > mostLines || lines.some((line) => line.length > longestLine);
  if (load === undefined || isTooLong) return postMessage({ id, pieces: null });
  if (highlighter.getLanguage(name) === undefined) highlighter.registerLanguage(name, (await load()).default);
  postMessage({ id, pieces: piecesOf(highlighter.highlight(code, { language: name, ignoreIllegals: true }).value) });
});
