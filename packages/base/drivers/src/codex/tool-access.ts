/** Maps an agent's `tools` to Codex, which has a shell and patches. The plane hides and refuses its own tools. */
import type { ScopedAgent } from "@aegis/contract/tool-access.ts";
import { planeServer } from "@aegis/contract/tool-names.ts";
import { type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import { scopedSpec, toolRefusal } from "../cli-harness/tool-access.ts";
import type { ConversationSpec, ToolUse } from "../driver.ts";
import { plainReading } from "./plain-reading.ts";

export function codexSpec(spec: ConversationSpec): ConversationSpec {
  return scopedSpec(spec, ["bash", "edit", "write"], (use) => meaning(use, spec.cwd));
}

/**
 * The Codex features for the agent's tools. Codex reads with its shell: an agent that may read, search or list keeps
 * it, and every command that does more is refused.
 */
export function scopedFeatures(agent: ScopedAgent): JsonFields {
  const refuse = toolRefusal(agent);
  const hasShell = ["bash", "read", "grep", "ls"].some((tool) => refuse(tool) === null);
  return {
    ...(hasShell ? {} : { "features.shell_tool": false }),
    ...(refuse("read") === null ? {} : { "features.view_image": false }),
    ...(refuse("WebSearch") === null ? {} : { web_search: "disabled" }),
  };
}

function meaning({ tool, input }: ToolUse, root: string): string[] {
  switch (tool) {
    case "shell": {
      const reading = plainReading(textAt(input, "command") ?? "", textAt(input, "cwd") ?? root, root);
      return [reading ?? "bash"];
    }
    case "apply_patch": {
      const changes = listAt(input, "changes").map((change) => textAt(objectAt(change, "kind"), "type"));
      // Codex may not report what a patch changes.
      return changes.length > 0 && changes.every((type) => type === "update") ? ["edit"] : ["edit", "write"];
    }
    case `mcp__${planeServer}`:
      return [];
    default:
      return [tool];
  }
}
