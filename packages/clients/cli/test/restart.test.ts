/**
 * Clients that are open while the daemon restarts. While a browser has access, the daemon keeps its port, so the old
 * address still answers, and refuses the old token.
 */
import { connect } from "@aegis/client/project/connect.ts";
import type { AegisProject } from "@aegis/test/helpers/aegis.ts";
import { isRunning } from "@aegis/test/helpers/pids.ts";
import { openApp } from "@aegis/test/helpers/terminal-app.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

async function openBrowser({ json }: AegisProject): Promise<void> {
  const { origin, hash } = new URL((await json<{ url: string }>("web")).url);
  const body = JSON.stringify({ code: hash.replace("#code=", "") });
  const login = await fetch(`${origin}/web/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(login.status).toBe(200);
}

const restarts: Record<string, (project: AegisProject) => Promise<unknown>> = {
  "a clean stop": (project) => project.aegis("down"),
  "a crash": async (project) => {
    const pid = (await project.daemonPid()) ?? 0;
    process.kill(pid, "SIGKILL");
    await waitUntil("the daemon is gone", () => !isRunning(pid));
  },
};

it("keeps the terminal app, followers and clients connected across restarts after a browser was open", {
  tags: "slow",
}, async () => {
  const { project, pty, shows } = await openApp({ prepare: openBrowser });
  await shows("No session is open");
  pty.type("hello\r");
  await shows("you said: hello");
  const { url } = await project.json<{ url: string }>("status");
  const tail = project.start("tail", "--after", "0");
  // Otherwise the daemon may be gone before it connects.
  await tail.shows("hello");
  const client = await connect(project.root, { env: project.env });
  for (const [how, stop] of Object.entries(restarts)) {
    await stop(project);
    await project.aegis("up");
    // Otherwise every client would find the new address because the old one does not answer.
    expect(await project.json("status")).toMatchObject({ url });
    const handle = `after-${how.split(" ").at(-1)}`;
    // A request that changes something arrives exactly once.
    await client.call("createSession", { body: { agent: "dev", handle } });
    await tail.shows(handle);
    await shows("● live");
    pty.type(`still here after ${how}\r`);
    await shows(`you said: still here after ${how}`);
  }
  expect(tail.output.stderr).not.toContain("token");
});
