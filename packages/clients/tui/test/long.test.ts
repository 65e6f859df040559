/** A conversation of 100,000 events on a terminal. */
import { readFileSync } from "node:fs";
import { testsUsePostgres } from "@aegis/test/helpers/cluster.ts";
import { addConversation } from "@aegis/test/helpers/long-conversation.ts";
import { keys, openApp } from "@aegis/test/helpers/terminal-app.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const total = 100_000;

// Not on PostgreSQL: it writes rows into the file of the embedded database.
it.skipIf(testsUsePostgres)(
  "opens a conversation of 100,000 events, goes to its beginning and back, and stays small",
  { tags: "slow" },
  async () => {
    let long = "";
    const { pty, shows } = await openApp({
      rows: 120,
      async prepare(project) {
        const { session } = await project.json<{ session: { id: string } }>("spawn", "dev", "--handle", "long-talk");
        long = session.id;
        await project.aegis("spawn", "dev", "--handle", "short-talk");
        process.kill((await project.daemonPid()) ?? -1, "SIGKILL");
        await waitUntil("the daemon is gone", async () => (await project.daemonPid()) === null);
        addConversation(project.root, long, total);
        expect((await project.aegis("up")).code).toBe(0);
      },
    });
    await shows("2 short-talk");
    pty.type("\u001b1");
    await shows(`text ${total - 2} of a long conversation`);
    // Back page by page: older parts arrive without a gap.
    for (let page = 0; page < 40; page++) pty.type(keys.pageUp);
    await shows("more below");
    // To the beginning at once, and forward from there.
    pty.type(keys.ctrlHome);
    await shows(/\n *text 1 of a long conversation/);
    const seen = async () =>
      [...(await pty.screen()).matchAll(/text (\d+) of a long conversation/g)].map(([, number]) => Number(number));
    // More than a reader's part holds, so that it moves.
    for (let last = 0; last < 4_000; ) {
      const shown = await seen();
      // Consecutive, but for the two events of a turn that are no text.
      for (const [index, number] of shown.entries())
        if (index > 0) expect(number - (shown[index - 1] ?? 0)).toBeLessThanOrEqual(3);
      last = shown.at(-1) ?? last;
      let looks = 0;
      await waitUntil(`more than ${last} is shown`, async () => {
        // The next part may still be on its way.
        if (looks++ % 10 === 0) pty.type(keys.pageDown);
        return ((await seen()).at(-1) ?? 0) > last;
      });
    }
    pty.type(keys.ctrlEnd);
    await shows(`text ${total - 2} of a long conversation`);
    const status = readFileSync(`/proc/${pty.pid}/status`, "utf8");
    const megabytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    expect(megabytes).toBeLessThan(150);
  },
);
