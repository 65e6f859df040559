/** Determines the provider of a model from its name. */

const families: readonly { provider: string; pattern: RegExp }[] = [
  { provider: "anthropic", pattern: /^claude-/ },
  { provider: "openai", pattern: /^(?:gpt-|chatgpt-|codex-|o[1-9](?:-|$))/ },
  { provider: "google", pattern: /^gemini-/ },
];

/** Returns the provider of a bare name such as `claude-3-5-sonnet-20241022`, or null if the name is unknown. */
export function familyOf(model: string): string | null {
  return families.find(({ pattern }) => pattern.test(model))?.provider ?? null;
}

/**
 * Returns the name as `provider/model`, the form that native agents use. Returns a name of an unknown family unchanged.
 */
export function qualifiedModel(model: string): string {
  const provider = model.includes("/") ? null : familyOf(model);
  return provider === null ? model : `${provider}/${model}`;
}
