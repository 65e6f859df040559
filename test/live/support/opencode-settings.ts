/** How OpenCode, or what is made from it, is started with a fake model alone. */

/** The first model is also the one for small work. */
export function openCodeSettings(url: string, models: Readonly<Record<string, object>> = { model: {} }) {
  const limit = { context: 200_000, output: 8000 };
  const [first] = Object.keys(models);
  return {
    share: "disabled",
    enabled_providers: ["fake"],
    model: `fake/${first}`,
    small_model: `fake/${first}`,
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        name: "Fake",
        options: { baseURL: `${url}/v1`, apiKey: "key-of-no-account" },
        models: Object.fromEntries(Object.entries(models).map(([name, more]) => [name, { name, limit, ...more }])),
      },
    },
  };
}

export function openCodeEnv(settings: object, prefix = "OPENCODE"): Record<string, string> {
  return {
    [`${prefix}_CONFIG_CONTENT`]: JSON.stringify(settings),
    [`${prefix}_DISABLE_MODELS_FETCH`]: "1",
    [`${prefix}_DISABLE_LSP_DOWNLOAD`]: "1",
    [`${prefix}_DISABLE_DEFAULT_PLUGINS`]: "1",
  };
}
