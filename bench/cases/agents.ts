/** Agent files: reading a thousand, finding the one that a name means, and deciding which tools it may use. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentTable } from "@aegis/agents/agent-table.ts";
import { newAgentText } from "@aegis/agents/write.ts";
import type { AgentProfile } from "@aegis/contract/agent.ts";
import { type ScopedTool, scopeOf } from "@aegis/contract/tool-access.ts";
import { AgentFiles } from "@aegis/project/agents/files.ts";
import type { Bench } from "../bench.ts";
import { type Compared, compareRounds, elapsed, type Figure, figure, interleave } from "../measure.ts";

const fileCount = 1_000;
const toolCount = 500;
const choice = { slug: "agent-0", why: "a benchmark" };

type Subjects = { ours: () => Promise<number>; base: () => Promise<number> };
type Compare = (subjects: Subjects) => Promise<Compared>;

export const agents: Bench = {
  name: "agents",
  about: "loading 1,000 agent files, resolving names, and what an agent may use of 500 tools",
  async run({ folder, quick, signal }) {
    const compare: Compare = async (subjects) => {
      const rounds = await interleave(subjects, quick ? 2 : 7, signal);
      return compareRounds(rounds.ours, rounds.base);
    };
    const place = { folder: join(folder, "agents"), source: "project", within: folder } as const;
    const paths = await writeAgents(place.folder);
    const files = new AgentFiles();
    const { profiles } = await files.load([place]);
    const read = () => elapsed(() => Promise.all(paths.map((path) => readFile(path, "utf8"))));
    const reading = { unit: "ms", against: "reading the files" } as const;
    const fresh = await compare({ ours: () => elapsed(() => new AgentFiles().load([place])), base: read });
    const again = await compare({ ours: () => elapsed(() => files.load([place])), base: read });
    return [
      figure({ name: "1,000 agent files, first load", ...reading }, fresh),
      figure({ name: "1,000 agent files, none changed", ...reading }, again),
      ...(await resolving(profiles, compare)),
      await deciding(profiles, compare),
    ];
  },
};

async function writeAgents(folder: string): Promise<string[]> {
  await mkdir(folder);
  const now = new Date();
  const paths = Array.from({ length: fileCount }, (_, index) => join(folder, `agent-${index}.md`));
  for (const [index, path] of paths.entries()) {
    const tools = ["read", "grep", "Bash(git:*)", "aegis_*", ...toolNames(16, index)];
    const fields = { name: `agent-${index}`, description: `Does part ${index}: and says so.`, tools };
    const more = { harness: "scripted", deny_tools: ["write", "tool_1*3"], temperature: 0 };
    await writeFile(path, newAgentText({ ...fields, ...more }, "Do it well.\n".repeat(40), now));
  }
  return paths;
}

/** The first time after a change every name is looked for among all candidates; after that it is known. */
async function resolving(profiles: readonly AgentProfile[], compare: Compare): Promise<Figure[]> {
  const names = profiles.map((profile) => profile.slug);
  const registry = new AgentTable(profiles, choice);
  const known = new Map(profiles.map((profile) => [profile.slug, profile]));
  const rateOf = async (repeat: number, before: () => void, find: (name: string) => unknown) => {
    const ms = await elapsed(async () => {
      for (let round = 0; round < repeat; round++) {
        before();
        for (const name of names) if (!find(name)) throw new Error(`${name} was not found`);
      }
    });
    return (repeat * names.length * 1000) / ms;
  };
  const base = () =>
    rateOf(
      100,
      () => {},
      (name) => known.get(name),
    );
  const find = (name: string) => registry.loadAgent(name);
  const first = await compare({ ours: () => rateOf(10, () => registry.replace(profiles, choice), find), base });
  const later = await compare({ ours: () => rateOf(100, () => {}, find), base });
  const input = { unit: "/s", against: "a Map" } as const;
  return [
    figure({ name: "agents resolved, after a change", ...input }, first),
    figure({ name: "agents resolved, known", ...input }, later),
  ];
}

async function deciding([profile]: readonly AgentProfile[], compare: Compare): Promise<Figure> {
  if (profile === undefined) throw new Error("no agent was loaded");
  const agent = { ...profile, permission: "write" as const, overrides: [] };
  const tools = toolNames(toolCount, 0).map(
    (name, index): ScopedTool => ({
      name,
      kind: index % 3 === 0 ? "plugin" : "plane",
      plugin: index % 3 === 0 ? `plugin-${index % 7}` : null,
      needs: index % 5 === 0 ? "full" : "read",
      required_agent: index % 50 === 1 ? "plugin-1:agent-1" : null,
      visible_to: index % 20 === 2 ? ["agent-0", "agent-1"] : [],
    }),
  );
  const listed = new Set(agent.tools);
  const repeat = 20;
  const microsecondsEach = async (work: () => number) => {
    let allowed = 0;
    const ms = await elapsed(async () => {
      for (let round = 0; round < repeat; round++) allowed += work();
    });
    if (allowed === 0) throw new Error("no tool was allowed");
    return (ms * 1000) / (repeat * tools.length);
  };
  const compared = await compare({
    // As a session does it: the entries are read once, then each tool is judged.
    ours: () =>
      microsecondsEach(() => {
        const decide = scopeOf(agent);
        return tools.filter((tool) => decide(tool).allowed).length;
      }),
    base: () => microsecondsEach(() => tools.filter((tool) => listed.has(tool.name)).length),
  });
  return figure({ name: "scope decision, 500 tools", unit: "µs", against: "Set.has" }, compared, { valueBelow: 50 });
}

function toolNames(count: number, start: number): string[] {
  return Array.from({ length: count }, (_, index) => `tool_${(start + index) % toolCount}`);
}
