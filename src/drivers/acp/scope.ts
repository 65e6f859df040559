/** What an agent's `tools` mean for an ACP agent: by the kind of a call, and by its name where that says more. */
import { coreTools } from "../../contract/tool-names.ts";
import type { ToolKind } from "../../contract/turn.ts";
import { scopedSpec } from "../cli-harness/scope.ts";
import type { ConversationSpec, ToolUse } from "../driver.ts";

export function acpSpec(spec: ConversationSpec): ConversationSpec {
  return scopedSpec(
    spec,
    coreTools.map((tool) => tool.name),
    meaning,
  );
}

/** `may` are the tools that a name can narrow a call of the kind down to: an agent's word never moves it to another kind. */
type KindMeaning = { is: readonly string[]; may: readonly string[] };

const byKind: Partial<Record<ToolKind, KindMeaning>> = {
  execute: { is: ["bash"], may: [] },
  edit: { is: ["edit", "write"], may: ["edit", "write"] },
  read: { is: ["read"], may: ["ls"] },
  search: { is: ["grep", "glob"], may: ["grep", "glob", "ls", "WebSearch"] },
  fetch: { is: ["fetch"], may: ["WebSearch"] },
};

/** What the agents with a recipe call theirs. */
const words: Readonly<Record<string, readonly string[]>> = {
  bash: ["run_shell_command", "shell"],
  read: ["read_file", "read_many_files", "view"],
  edit: ["replace", "str_replace"],
  write: ["write_file", "create"],
  grep: ["search_file_content", "grep_search"],
  glob: ["find_files"],
  ls: ["list", "list_directory"],
  fetch: ["web_fetch", "webfetch"],
  todo: ["todowrite", "todoread", "todo_write", "write_todos", "update_todo"],
  WebSearch: ["google_web_search", "web_search", "websearch"],
  Task: ["task"],
};

const byWord = new Map([
  ...coreTools.map(({ name }): [string, string] => [name, name]),
  ...Object.entries(words).flatMap(([tool, names]) => names.map((name): [string, string] => [name, tool])),
]);

function meaning({ tool, kind }: ToolUse): readonly string[] {
  const named = byWord.get(tool.toLowerCase());
  const known = byKind[kind];
  if (known === undefined) return [named ?? tool];
  return named !== undefined && known.may.includes(named) ? [named] : known.is;
}
