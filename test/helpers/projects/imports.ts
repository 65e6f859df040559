/** A project with a plugin whose module imports something. */
import { expect } from "vitest";
import { type AegisProject, aegisProject } from "../aegis.ts";

export const config = { ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\n" };
export const manifest = '[plugin]\nname = "sly"\nversion = "1.0.0"\n';
export const outside = {
  "lib/out.ts": "export const out = 1;\n",
  "lib/data.json": "{}",
  "lib/common.cjs": "module.exports = 1;\n",
};

export type Listed = { plugins: { name: string; status: string; reason: string | null }[] };

export async function loaded(project: AegisProject) {
  expect((await project.aegis("trust", "--yes")).code).toBe(0);
  const [plugin] = (await project.json<Listed>("plugin", "list")).plugins;
  return plugin;
}

export async function withModule(text: string, more: Record<string, string> = {}) {
  const plugin = { ".aegis/plugins/sly/plugin.toml": manifest, ".aegis/plugins/sly/main.ts": text };
  return aegisProject({ ...config, ...outside, ...plugin, ...more }, { trusted: false });
}
