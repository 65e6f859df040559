// @module-tag slow
/** How a daemon stops: signals, deadlines, requests and open streams. */

import { daemonFilePath } from "@aegis/lib/daemon-file.ts";
import { describe, expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { cleanExit, exists, inTurn, isDraining } from "../helpers/projects/life.ts";
import { answerTo, createSession, endings, eventsOf, openAsk, say } from "../helpers/talk.ts";

describe("stopping", () => {
  it("SIGTERM lets the turn in progress finish and starts no other", async () => {
    const project = await testProject();
    const { daemon, session, receipt } = await inTurn(project);
    const queued = await say(daemon.client, session.id, "queued");
    daemon.signal("SIGTERM");
    await isDraining(daemon);
    await project.open("one");
    expect(await daemon.exited).toEqual(cleanExit);
    expect(await exists(daemonFilePath(project.dir))).toBe(false);

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
    expect(await answerTo(client, queued)).toBe("you said: queued");
    expect(await endings(client, session.id)).toEqual(["completed", "completed"]);
    expect((await eventsOf(client, "daemon.stopping")).map((event) => event.data.reason)).toEqual(["SIGTERM"]);
  });

  it("a second SIGTERM does not wait, and the next start takes the turn up", async () => {
    const project = await testProject();
    const { daemon, session, receipt } = await inTurn(project);
    daemon.signal("SIGTERM");
    await isDraining(daemon);
    daemon.signal("SIGTERM");
    expect(await daemon.exited).toEqual(cleanExit);
    await project.open("one");

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
    expect(await endings(client, session.id)).toEqual(["lost", "completed"]);
  });

  it("past the deadline it stops by itself, and an ask stays open for the next start", async () => {
    const project = await testProject();
    const daemon = await project.start();
    const session = await createSession(daemon.client);
    const receipt = await say(daemon.client, session.id, "may you deploy");
    const ask = await openAsk(daemon.client);
    daemon.signal("SIGINT");
    expect(await daemon.exited).toEqual(cleanExit);

    const { client } = await project.start();
    expect(await openAsk(client)).toEqual(ask);
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", text: "not today" } });
    expect(await answerTo(client, receipt)).toBe("denied: deploy");
  });

  it("`shutdown` stops an idle daemon, with `force` also a busy one", async () => {
    const project = await testProject();
    const idle = await project.start();
    expect(await idle.client.call("shutdown", { body: {} })).toEqual({ stopping: true });
    expect(await idle.exited).toEqual(cleanExit);

    const { daemon, receipt } = await inTurn(project);
    await daemon.client.call("shutdown", { body: { force: true } });
    expect(await daemon.exited).toEqual(cleanExit);
    await project.open("one");
    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
  });

  it("an open event stream does not hold it up", async () => {
    const project = await testProject();
    const daemon = await project.start();
    const stream = await daemon.client.open("streamEvents");
    const text = stream.text();
    daemon.signal("SIGTERM");
    expect(await daemon.exited).toEqual(cleanExit);
    expect(await text).toContain('"type":"daemon.stopping"');
  });
});
