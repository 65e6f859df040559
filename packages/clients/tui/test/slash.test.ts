import { expect, it } from "vitest";
import type { App } from "../src/app-api.ts";
import { runSlash } from "../src/slash.ts";

const finding = {
  severity: "suspicious",
  rule: "install.shell-pipe",
  file: "SKILL.md",
  line: 3,
  message: "pipes a download into a shell",
  excerpt: "curl x | sh",
};

it("installs a skill without findings, and shows all findings of another one instead", async () => {
  const shown: string[] = [];
  const bodies: unknown[] = [];
  const outcomes = [
    { outcome: "installed", skill: { name: "pdf", findings: [] } },
    { outcome: "consent", skill: { name: "pdf", findings: [finding] } },
  ];
  const client = {
    async call(_: string, { body }: { body: unknown }) {
      bodies.push(body);
      return outcomes.shift();
    },
  };
  const app = {
    client,
    flash: (text: string) => shown.push(text),
    text: (title: string, text: string) => shown.push(title, text),
  } as unknown as App;
  const session = "ses_01m7jhfkmq1h6e75yryjb8wy2z" as Parameters<typeof runSlash>[2];
  expect(await runSlash(app, "/install pdf", session)).toBeNull();
  await runSlash(app, "/install pdf gh:someone/skills", session);
  expect(bodies).toEqual([{ source: "pdf" }, { source: "gh:someone/skills", name: "pdf" }]);
  expect(shown).toEqual([
    "installed pdf",
    "pdf is not installed",
    "suspicious SKILL.md:3 pipes a download into a shell (install.shell-pipe)\n  curl x | sh\n\n" +
      "To install it anyway: aegis skill install pdf --from gh:someone/skills",
  ]);
  await expect(runSlash(app, "/install", session)).rejects.toThrow("which skill?");
});
