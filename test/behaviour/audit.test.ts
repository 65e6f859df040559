/** `aegis audit` on the built command: what it says is what the project's files and the user's agreements say. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Audit } from "@aegis/contract/audit.ts";
import { describe, expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";

const config = `
default_agent: dev
agents:
  dev: { harness: scripted, permission: write }
  wild: { harness: scripted, permission: full, env: { DEPLOY_TOKEN: hunter2-hunter2 } }
  reader: { harness: scripted, permission: read, deny_tools: [aegis_spawn] }
queues:
  reviews: { agent: reader }
`;

const gatePlugin = {
  ".aegis/plugins/guard/plugin.toml": '[plugin]\nname = "guard"\nversion = "1.0.0"\ndescription = "judges"\n',
  ".aegis/plugins/guard/gate.ts":
    'import { hook } from "aegis";\nexport const gate = hook("pre_tool_use", () => ({ decision: "allow" }));\n',
};

describe("aegis audit", () => {
  it("shows rights, gates, secrets by name, and who agreed to what since when", async () => {
    const project = await aegisProject({ ".aegis.yaml": config, ...gatePlugin }, { trusted: false });
    const before = (await project.json<{ audit: Audit }>("audit")).audit;
    const state = (audit: Audit, name: string) => audit.trust.items.find((item) => item.name === name);
    expect(state(before, "config/wild")).toMatchObject({ state: "untrusted", since: null, by: null });
    expect(before.agents.find(({ agent }) => agent === "wild")?.refused).toMatch(/not trusted/);
    expect(before.gates).toEqual([]);

    expect((await project.aegis("trust", "--yes")).code).toBe(0);
    const { audit } = await project.json<{ audit: Audit }>("audit");
    const agreed = state(audit, "config/wild");
    expect(agreed).toMatchObject({ state: "trusted", by: audit.user });
    expect(Date.parse(agreed?.since ?? "")).toBeGreaterThan(Date.now() - 600_000);
    expect(audit.gates).toEqual([{ plugin: "guard", hook: "pre_tool_use (gate)", state: "active", reason: null }]);
    const agents = new Map(audit.agents.map((one) => [one.agent, one]));
    expect(agents.get("reader")).toMatchObject({ edit: "no", run: "no", permission: "read" });
    expect(agents.get("reader")?.withheld).toContain("aegis_spawn");
    expect(agents.get("dev")).toMatchObject({ edit: "yes", run: "asks", fetch: "asks" });
    expect(agents.get("wild")).toMatchObject({ run: "yes", secrets: ["DEPLOY_TOKEN"] });
    expect(audit.secrets).toContainEqual({ name: "DEPLOY_TOKEN", used_by: ["agent wild"] });
    expect(audit.findings[0]).toMatchObject({ level: "high", subject: "agent wild" });
    expect(audit.open).toContainEqual(
      expect.stringMatching(/without asking: (?!.*dev\b.*After).*\bwild\b.*After .*\bdev\b/),
    );
    const [title, first] = (await project.aegis("audit")).stdout.split("\n");
    expect(title).toContain("aegis audit");
    expect(first).toContain("The operating system does not confine agents.");
    expect(JSON.stringify(audit)).not.toContain("hunter2");
    expect(audit.state).toMatchObject({ owner: "you", adopted: false });
    expect(audit.queues).toEqual([{ queue: "reviews", agent: "reader", rights: "producer", producers: [] }]);

    await rm(join(project.root, ".aegis/plugins/guard"), { recursive: true });
    expect((await project.aegis("plugin", "reload")).code).toBe(0);
    const later = (await project.json<{ audit: Audit }>("audit")).audit;
    expect(later.gates).toEqual([
      { plugin: "guard", hook: "pre_tool_use (gate)", state: "missing", reason: expect.any(String) },
    ]);
    expect(later.findings).toContainEqual(
      expect.objectContaining({ subject: "plugin guard", fix: expect.stringContaining("aegis plugin drop guard") }),
    );
  });

  it("lists who else may give work or answers, and how to end it", async () => {
    const project = await aegisProject({
      ".aegis.yaml": `${config}
webhooks:
  in: { ci: { agent: dev, secret_env: CI_SECRET } }
  out: { ops: { url: "https://ops.example/hooks/hidden-path", secret_env: OPS_SECRET } }
schedules:
  nightly: { agent: dev, prompt: look, cron: "0 3 * * *" }
`,
    });
    expect((await project.aegis("mcp", "--http", "--client", "editor")).code).toBe(0);
    const { audit } = await project.json<{ audit: Audit }>("audit");
    expect(audit.access.map(({ who, fix }) => [who, fix])).toEqual([
      ["program editor over MCP", "aegis mcp revoke editor"],
      ["webhook in:ci", "remove webhooks.in.ci"],
      ["schedule nightly", "aegis schedule disable nightly"],
    ]);
    expect(audit.secrets).toContainEqual({ name: "CI_SECRET", used_by: ["webhook in:ci"] });
    const { stdout } = await project.aegis("audit");
    expect(stdout).toContain("webhook in:ci: give work to agent dev, with a signature");
    expect(stdout).toContain("events go to: https://ops.example (webhook out:ops)");
    expect(stdout).not.toContain("hidden-path");
  });

  it("prints one page, and fails on request when something is open", async () => {
    const project = await aegisProject({ ".aegis.yaml": config });
    const page = await project.aegis("audit");
    expect(page.code).toBe(0);
    for (const title of ["AGENTS", "TOOLS", "GATES", "NETWORK", "SECRETS", "TRUST", "FINDINGS"])
      expect(page.stdout).toContain(title);
    expect(page.stdout).toContain("everything here is trusted, including future changes");
    expect(page.stdout).not.toContain("hunter2");
    expect((await project.aegis("audit", "--fail-on", "high")).code).toBe(1);
    const wrong = await project.aegis("audit", "--fail-on", "severe");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("expected high, medium, low");
  });
});
