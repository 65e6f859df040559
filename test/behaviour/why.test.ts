/** What caused a message, followed back to the person or the schedule at the beginning. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@aegis/client/client.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { WhyLink } from "@aegis/contract/why.ts";
import { describe, expect, it } from "vitest";
import { go, openWeb, violations } from "../../packages/clients/web/test/pages.ts";
import { webProject } from "../../packages/clients/web/test/web-project.ts";
import { cliPath } from "../helpers/aegis.ts";
import { sharedBrowser } from "../helpers/browser.ts";
import { sharedDaemon } from "../helpers/project.ts";
import { createSession, hasSaid, messages, refusal, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const workflow = `import { workflow } from "aegis";
export const pass = workflow("pass", async (engine) => engine.delegate("docs", "echo from the run"));
`;

const browser = sharedBrowser();
const shared = sharedDaemon({
  ...webProject,
  ".aegis/plugins/passer/plugin.toml": '[plugin]\nname = "passer"\nversion = "1.0.0"\n',
  ".aegis/plugins/passer/pass.ts": workflow,
});

async function why(client: Client, message: Pick<Message, "id"> | undefined): Promise<WhyLink[]> {
  if (message === undefined) throw new Error("no message");
  return (await client.call("why", { path: { message: message.id } })).links;
}

const kinds = (links: readonly WhyLink[]) => links.map(({ kind }) => kind);

describe("the causes of a message", () => {
  it("lead over the turns of agents to the person, in the API and on the page", async () => {
    const { client } = shared.daemon;
    const [first, second, third] = [
      await createSession(client),
      await createSession(client),
      await createSession(client),
    ];
    await say(client, first.id, "echo an earlier message");
    await hasSaid(client, first.id, "an earlier message");
    await say(client, first.id, `hand onward to ${second.handle} then hold one`);
    await hasSaid(client, second.id, "you said: onward");
    await shared.project.open("one");
    const [passed] = await messages(client, second.id);
    const links = await why(client, passed);
    expect(kinds(links)).toEqual(["message", "turn", "message", "person"]);
    expect(links.map(({ handle }) => handle)).toEqual([second.handle, first.handle, first.handle, null]);
    expect(links[2]?.text).toContain("hand onward");
    const { dir } = shared.project;
    const env = { HOME: join(dirname(dir), "home"), PATH: "/usr/bin:/bin", LANG: "C.UTF-8" };
    const told = await promisify(execFile)(process.execPath, [cliPath, "why", passed?.id ?? ""], { cwd: dir, env });
    expect(told.stdout).toMatch(new RegExp(`message to ${second.handle}.*\\n← sent in a turn of ${first.handle}`));
    expect(told.stdout.trim().split("\n").at(-1)).toBe("← a person");
    // A session stands for its newest message, and its whole history names each.
    const run = (...args: string[]) => promisify(execFile)(process.execPath, [cliPath, ...args], { cwd: dir, env });
    expect((await run("why", second.handle)).stdout).toBe(told.stdout);
    expect((await run("history", second.handle, "--full")).stdout).toContain(`(${passed?.id}):`);
    expect((await refusal(client.call("why", { path: { message: third.id as never } }))).code).toBe("invalid");

    const { page, errors } = await openWeb(browser, shared.daemon);
    await go(page, `#/s/${second.id}`);
    await page.locator(".message").getByRole("link", { name: "Why this message" }).first().click();
    const chain = page.getByRole("list", { name: "Causes" });
    await chain.getByText("a person").waitFor();
    await chain.getByText("hand onward").waitFor();
    expect(await violations(page)).toEqual([]);
    await go(page, "#/events");
    await page.getByLabel("Filter by type, session or text").fill("message.admitted onward");
    await page.locator(".events summary").first().click();
    await page.getByRole("link", { name: "Why this message?" }).first().click();
    await page.getByRole("list", { name: "Causes" }).waitFor();
    expect(errors).toEqual([]);
  });

  it("lead from a task to its schedule, and over a run to the person who started it", async () => {
    const { client } = shared.daemon;
    await client.call("runSchedule", { path: { schedule: "nightly" }, body: {} });
    const { run } = await client.call("startRun", { path: { workflow: "pass" }, body: {} });
    const payloadOf = async (text: string) => {
      let found: Message | undefined;
      await waitUntil(`a worker has got: ${text}`, async () => {
        const { tasks } = await client.call("listTasks");
        const worker = tasks.find(({ payload }) => payload === text)?.worker ?? null;
        found = worker === null ? undefined : (await messages(client, worker))[0];
        return found !== undefined;
      });
      return found;
    };
    const scheduled = await why(client, await payloadOf("echo nightly"));
    expect(kinds(scheduled)).toEqual(["message", "task", "schedule"]);
    expect(scheduled.at(-1)).toMatchObject({ name: "nightly", id: expect.stringMatching(/^fir_/) });
    const links = await why(client, await payloadOf("echo from the run"));
    expect(kinds(links)).toEqual(["message", "task", "run", "person"]);
    expect(links[2]).toMatchObject({ id: run.id, name: "pass" });
  });

  it("lead from a broadcast to the person who asked", async () => {
    const { client } = shared.daemon;
    await client.call("spawnGroup", { path: { group: "panel" }, body: { agents: ["dev"] } });
    await client.call("broadcastGroup", { path: { group: "panel" }, body: { objective: "what is better" } });
    const { group } = await client.call("getGroup", { path: { group: "panel" } });
    const [asked] = await messages(client, group.members[0]?.session ?? "");
    expect(kinds(await why(client, asked))).toEqual(["message", "broadcast", "person"]);
  });
});
