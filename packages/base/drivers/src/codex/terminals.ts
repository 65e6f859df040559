/**
 * Keeps agents from typing into running commands. Codex can run a command in a terminal into which the model then types
 * further commands: Codex asks about the first only, and reports the others when they have been typed. So terminals are
 * switched off, Aegis verifies that they are, and a turn in which the model typed anyway ends.
 */
import type { TurnError } from "@aegis/contract/turn.ts";
import { isObject, type JsonFields, listAt, oneLine, textAt } from "../cli-harness/fields.ts";
import type { DriverEvent } from "../driver.ts";
import { program } from "./facts.ts";
import type { Rpc } from "./rpc.ts";

/** The first feature is that of newer versions; in those that lack it, the second one is the tool with terminals. */
const features = ["unified_exec_tty", "unified_exec"] as const;

export const noTerminals: JsonFields = Object.fromEntries(features.map((name) => [`features.${name}`, false]));

export const terminalsNotice =
  "This version of Codex does not let Aegis switch its terminals off. An agent could type into a running command " +
  "without any check, so Aegis refuses the commands that Codex asks about, except plain reads. " +
  `Update it: ${program.install}@latest`;

export const commandRefusal =
  "this version of Codex could type into the running command without any check; it must be updated";

/** Asks Codex about the opened thread: a policy of the user's organisation may override its settings. */
export async function hasTerminals(rpc: Rpc, threadId: string): Promise<boolean> {
  const answer = await rpc.call("experimentalFeature/list", { threadId, limit: 1000 }).catch(() => ({}) as JsonFields);
  const known = new Map(listAt(answer, "data").map((feature) => [textAt(feature, "name"), isOn(feature)]));
  return features.map((name) => known.get(name)).find((state) => state !== undefined) ?? true;
}

function isOn(feature: unknown): boolean {
  return !isObject(feature) || feature.enabled !== false;
}

export type TypedInput = { text: string; item: string; process: string };

/** What the model typed into a running command. Null for anything else, and for the keys that only stop a command. */
export function typedIn(method: string, params: JsonFields): TypedInput | null {
  const text = method === "item/commandExecution/terminalInteraction" ? textAt(params, "stdin") : null;
  if (text === null || stopKeys.has(text)) return null;
  return { text, item: textAt(params, "itemId") ?? "", process: textAt(params, "processId") ?? "" };
}

/** None, Ctrl-C and Ctrl-D. */
const stopKeys: ReadonlySet<string> = new Set(["", "\u0003", "\u0004"]);

export const typingError: TurnError = {
  code: "blocked",
  message: "Codex typed into a running command. Nothing can check such input, so Aegis ended the turn and the command.",
  fix: `Look at what was typed, then update Codex: ${program.install}@latest`,
};

/** The record of it in the turn: Codex itself reports no call. */
export function typedEvents({ text, item, process }: TypedInput, nth: number): DriverEvent[] {
  const call = `${item}:typed:${nth}`;
  const title = oneLine(`type ${text}`);
  const input = { text, process };
  return [
    {
      type: "tool_call",
      call,
      name: "write_stdin",
      kind: "execute",
      title,
      input,
      locations: [],
      diff: null,
      parent: null,
    },
    { type: "tool_result", call, output: typingError.message, is_error: true, diff: null },
    { type: "notice", level: "error", text: `${typingError.message} It typed: ${oneLine(text, 300)}` },
  ];
}
