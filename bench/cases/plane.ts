/** What a call of a tool costs an agent: its credential, its scope, the tool and the record of the call. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startMcpServer } from "../bare/start.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, plainConfig, startDaemon } from "../daemon.ts";
import { compareRounds, compareValues, figure, interleave, percentile } from "../measure.ts";
import { PlaneClients, type ToolServer } from "../plane-client.ts";
import { openTalk } from "../talk.ts";

/** It writes down the address it is given, so that the benchmark can call in its place. */
const agentFile = fileURLToPath(new URL("../../test/fixtures/bin/plane-agent.mjs", import.meta.url));
const agents = `  remote: { harness: acp, options: { command: ${JSON.stringify([process.execPath, agentFile])} } }\n`;
const manyClients = 50;

export const plane: Bench = {
  name: "plane",
  about: "calls of a tool over MCP by 1 and 50 clients, against the MCP SDK alone with a tool that does nothing",
  async run(context) {
    const { quick, scope, signal } = context;
    const ours = await takePlace(
      context,
      await startDaemon(context, "project", { ".aegis.yaml": `${plainConfig}${agents}` }),
    );
    const bare = { url: await startMcpServer(scope), authorization: null, tool: "nothing" };
    const calls = (server: ToolServer, count: number, each: number) => {
      const clients = new PlaneClients(server, count);
      return () => clients.callAll(each);
    };
    const one = quick ? 50 : 400;
    const many = quick ? 5 : 30;
    const rounds = await interleave(
      {
        ours: calls(ours, 1, one),
        bare: calls(bare, 1, one),
        oursMany: calls(ours, manyClients, many),
        bareMany: calls(bare, manyClients, many),
      },
      quick ? 2 : 9,
      signal,
    );
    const rates = (name: keyof typeof rounds) => rounds[name].map((round) => round.rate);
    const at = (name: keyof typeof rounds, percent: number) =>
      percentile(
        rounds[name].flatMap((round) => round.samples),
        percent,
      );
    const against = "bare MCP server";
    const latency = (count: string, percent: number, mine: keyof typeof rounds, base: keyof typeof rounds) =>
      figure(
        { name: `plane call, ${count}, p${percent}`, unit: "ms", against },
        compareValues(at(mine, percent), at(base, percent)),
      );
    return [
      figure({ name: "plane calls, 1 client", unit: "/s", against }, compareRounds(rates("ours"), rates("bare")), {
        ratioAtLeast: 0.7,
      }),
      figure(
        { name: `plane calls, ${manyClients} clients`, unit: "/s", against },
        compareRounds(rates("oursMany"), rates("bareMany")),
        { ratioAtLeast: 0.7 },
      ),
      latency("1 client", 50, "ours", "bare"),
      latency("1 client", 99, "ours", "bare"),
      latency(`${manyClients} clients`, 50, "oursMany", "bareMany"),
      latency(`${manyClients} clients`, 99, "oursMany", "bareMany"),
    ];
  },
};

/** A session's own place on the plane. */
async function takePlace({ signal }: BenchContext, { client, root }: BenchDaemon): Promise<ToolServer> {
  const { session } = await client.call("createSession", { body: { agent: "remote" } });
  await (await openTalk(client, session.id, signal)).exchange("show place");
  const { url, authorization } = JSON.parse(await readFile(join(root, "planes", "place.json"), "utf8")) as {
    url: string;
    authorization: string;
  };
  return { url, authorization, tool: "aegis_list_agents" };
}
