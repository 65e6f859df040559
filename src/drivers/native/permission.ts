/** Whether a tool that an agent has runs at once or asks a person first. What it has is decided in `scope.ts`. */
import type { Permission } from "../../contract/agent.ts";
import type { Effect } from "./tools/tool.ts";

export type Rule = "allow" | "ask";

/** Plane tools are scoped by the plane; only `auto`, where the person decides, asks about them too. */
const rules: Readonly<Record<Permission, Readonly<Record<Effect, Rule>>>> = {
  read: { read: "allow", edit: "ask", execute: "ask", network: "ask", plane: "allow" },
  write: { read: "allow", edit: "allow", execute: "ask", network: "ask", plane: "allow" },
  full: { read: "allow", edit: "allow", execute: "allow", network: "allow", plane: "allow" },
  auto: { read: "allow", edit: "ask", execute: "ask", network: "ask", plane: "ask" },
};

export function ruleFor(permission: Permission, effect: Effect): Rule {
  return rules[permission][effect];
}
