/** The context size of models in tokens. A table by model name, because there is no common API for it. */

export const defaultContextSize = 128_000;

/** The first matching pattern applies, so narrower ones come first. */
const sizes: ReadonlyArray<readonly [RegExp, number]> = [
  [/claude-(opus|sonnet)-4-[678]|claude-(opus|sonnet)-[5-9]/, 1_000_000],
  [/claude/, 200_000],
  [/gpt-5\.[45]/, 1_000_000],
  [/gpt-5/, 400_000],
  [/gpt-4\.1/, 1_047_576],
  [/gpt-4o|gpt-4-turbo|gpt-oss/, 128_000],
  [/(^|\/)o[134](-|$)/, 200_000],
  [/gemini/, 1_048_576],
  [/llama-?4/, 1_000_000],
  [/qwen3-coder/, 262_144],
  [/deepseek/, 128_000],
  [/mistral|devstral|codestral/, 128_000],
];

/** A local server's real context is often smaller than the model's; the agent's `context_size` overrides it. */
export function contextSize(model: string, override: number | undefined): number {
  if (override !== undefined) return override;
  const name = model.toLowerCase();
  return sizes.find(([pattern]) => pattern.test(name))?.[1] ?? defaultContextSize;
}
