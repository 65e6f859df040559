/** A project whose only agent, `dev`, is a native one of a fake model. */
import type { FakeModels } from "./server.ts";

export type NativeConfigOptions = {
  api?: "openai-chat" | "anthropic";
  permission?: "read" | "write" | "full";
  /** What else the file says. */
  more?: string;
};

/** The text of its `.aegis.yaml`. */
export function nativeConfig({ url }: Pick<FakeModels, "url">, options: NativeConfigOptions = {}): string {
  const { api = "openai-chat", permission = "full", more = "" } = options;
  return [
    "default_agent: dev",
    `models: { fake: { base_url: "${url}", api: ${api} } }`,
    `agents: { dev: { harness: native, model: fake/one, permission: ${permission} } }`,
    more,
    "",
  ].join("\n");
}
