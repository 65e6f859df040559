/** Common fields of every definition: its kind and its position. */

export type DefinitionKind = "hook" | "tool" | "skill" | "agent" | "command" | "reducer" | "channel";

/** Identifies a definition among a module's exports, even if two copies of this file are loaded. */
export const definitionMark: unique symbol = Symbol.for("aegis.definition");

export type Definition<Kind extends DefinitionKind> = {
  readonly [definitionMark]: Kind;
  /** Modules list their exports alphabetically, so each definition records the order of its creation. */
  readonly order: number;
};

let made = 0;

export function nextOrder(): number {
  made += 1;
  return made;
}

export function define<Kind extends DefinitionKind>(kind: Kind): Definition<Kind> {
  return { [definitionMark]: kind, order: nextOrder() };
}

export function isDefinition(value: unknown): value is Definition<DefinitionKind> {
  return typeof value === "object" && value !== null && definitionMark in value;
}
