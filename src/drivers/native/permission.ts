/**
 * Decides whether an agent's tool runs at once or a person is asked first. `tool-access.ts` decides which tools an
 * agent has.
 */
import type { Permission } from "../../contract/agent.ts";
import type { Effect } from "./tools/tool.ts";

export type Rule = "allow" | "ask";

/** The plane scopes its own tools; only `auto`, where a person decides, asks about them too. */
const rules: Readonly<Record<Permission, Readonly<Record<Effect, Rule>>>> = {
  read: { read: "allow", edit: "ask", execute: "ask", network: "ask", plane: "allow" },
  write: { read: "allow", edit: "allow", execute: "ask", network: "ask", plane: "allow" },
  full: { read: "allow", edit: "allow", execute: "allow", network: "allow", plane: "allow" },
  auto: { read: "allow", edit: "ask", execute: "ask", network: "ask", plane: "ask" },
};

export function ruleFor(permission: Permission, effect: Effect): Rule {
  return rules[permission][effect];
}
