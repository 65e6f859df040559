/** Maps an ACP call to the names in an agent's `tools`: by kind, and by name if the name is more specific. */
import { coreTools } from "@aegis/contract/tool-names.ts";
import type { ToolKind } from "@aegis/contract/turn.ts";
import { scopedSpec } from "../cli-harness/tool-access.ts";
import type { ConversationSpec, ToolUse } from "../driver.ts";

export function acpSpec(spec: ConversationSpec): ConversationSpec {
  return scopedSpec(
    spec,
    coreTools.map((tool) => tool.name),
    meaning,
  );
}

/** `may` lists the tools to which a name can narrow a call of the kind. The name never moves a call to another kind. */
type KindMeaning = { is: readonly string[]; may: readonly string[] };

const byKind: Partial<Record<ToolKind, KindMeaning>> = {
  execute: { is: ["bash"], may: [] },
  edit: { is: ["edit", "write"], may: ["edit", "write"] },
  read: { is: ["read"], may: ["ls"] },
  search: { is: ["grep", "glob"], may: ["grep", "glob", "ls", "WebSearch"] },
  fetch: { is: ["fetch"], may: ["WebSearch"] },
};

/** The tool names that agents with a recipe use. */
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
