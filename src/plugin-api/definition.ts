/** What every definition of a plugin has: its kind, and its place among the others. */

export type DefinitionKind = "hook" | "tool" | "skill" | "agent" | "command" | "reducer";

/** Tells a definition from anything else a module exports, also when two copies of this file are loaded. */
export const definitionMark: unique symbol = Symbol.for("aegis.definition");

export type Definition<Kind extends DefinitionKind> = {
  readonly [definitionMark]: Kind;
  /** Modules list their exports by the alphabet, so each definition remembers when it was made. */
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
