/** What the command line says about sessions and arguments that are wrong. */

import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { describe, expect, it } from "vitest";

describe("arguments that are wrong", () => {
  it("names the nearest command, option and session, with the codes the documentation promises", {
    tags: "slow",
  }, async () => {
    const project = await aegisProject();
    const command = await project.aegis("stats");
    expect(command.code).toBe(2);
    expect(command.stderr).toContain("Did you mean one of state, status?");
    const option = await project.aegis("ps", "--al");
    expect(option.code).toBe(2);
    expect(option.stderr).toContain("--all");
    expect((await project.aegis("down", "--timeout", "soon")).code).toBe(2);
    expect((await project.aegis("send")).code).toBe(2);
    expect((await project.aegis("cancel", "nonsense")).code).toBe(2);
    expect((await project.aegis("config")).code).toBe(2);
    expect(await project.daemonPid()).toBeNull();

    await project.aegis("spawn", "--handle", "brave-planck");
    const session = await project.aegis("send", "brave-hoper", "hi");
    expect(session.code).toBe(1);
    expect(`${session.stderr}`).toContain("brave-planck");
    expect(await project.json("send", "brave-hoper", "hi")).toMatchObject({ error: { code: "not_found" } });
    const agent = await project.aegis("spawn", "helpr");
    expect(agent.stderr).toContain("helper");
    expect((await project.aegis("rename", "brave-planck", "Not A Handle")).code).toBe(2);
  });

  it("shows help with an example, and the version", async () => {
    const project = await aegisProject({ ".aegis.yaml": offlineConfig });
    const help = await project.aegis("send", "--help");
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("$ aegis send");
    expect((await project.aegis("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await project.aegis("help", "all")).stdout).toContain("completion");
  });
});

it("steers, and says why a session cannot fork or see an image", { tags: "slow" }, async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "--handle", "brave-planck");
  expect((await project.aegis("send", "brave-planck", "hello", "--steer")).stdout).toBe("landed at brave-planck\n");
  await project.aegis("send", "brave-planck", "hello", "--wait");
  const forked = await project.aegis("fork", "brave-planck");
  expect(forked).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot fork a conversation") });
  const missing = await project.aegis("send", "brave-planck", "look", "--image", "nowhere.png");
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("nowhere.png cannot be read") });
  const image = await project.aegis("send", "brave-planck", "look", "--image", ".aegis.yaml");
  expect(image).toMatchObject({ code: 2, stderr: expect.stringContaining("does not accept images") });
});

it("says what is wrong in the words of the command line", async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "--handle", "brave-planck");
  const spawned = await project.aegis("spawn", "--handle", "Not Ok");
  expect(spawned).toMatchObject({ code: 2, stderr: expect.stringMatching(/^aegis: --handle: expected /) });
  const renamed = await project.aegis("rename", "brave-planck", "Not Ok");
  expect(renamed).toMatchObject({ code: 2, stderr: expect.stringMatching(/^aegis: <handle>: expected /) });
});
