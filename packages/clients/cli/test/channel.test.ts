/** `aegis channel`, and the state of channels in `aegis status` and `aegis doctor`. */

import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { FakeBotApi } from "@aegis/test/helpers/fake-bot-api.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const timeout = { timeout: scaled(90_000) };

it("shows, pairs and tests a channel", { ...timeout, tags: "slow" }, async () => {
  const fake = await FakeBotApi.start();
  fake.chat(7);
  const config = `${offlineConfig}telegram: { token_env: BOT_TOKEN, api_root: "${fake.url}" }\n`;
  const project = await aegisProject({ ".aegis.yaml": config });
  project.env.BOT_TOKEN = fake.token;
  await project.aegis("up");
  await waitUntil("it is connected", async () =>
    (await project.aegis("channel", "list")).stdout.includes("@aegis_test_bot"),
  );
  const { stdout } = await project.aegis("channel", "pair");
  const [, code = ""] = /\/start (\w{8})/.exec(stdout) ?? [];
  expect(stdout).toContain(`https://t.me/aegis_test_bot?start=${code}`);
  fake.say(7, `/start ${code}`);
  await waitUntil("it is paired", () => fake.sent.length === 1);
  expect((await project.aegis("channel", "list")).stdout).toMatch(/telegram +ok[\s\S]*7 Ada \(paired/);
  expect((await project.aegis("channel", "test", "telegram")).stdout).toContain("connected as @aegis_test_bot");
  await waitUntil("the test message is there", () => fake.texts(7).includes("A test message from Aegis."));
  expect((await project.aegis("status")).stdout).toMatch(/channel +telegram: ok, connected as @aegis_test_bot/);
  expect(await project.aegis("channel", "unpair", "telegram", "7")).toMatchObject({ code: 0 });
  expect(await project.aegis("channel", "unpair", "telegram", "7")).toMatchObject({ code: 1 });
  const wrong = await project.aegis("channel", "test", "telegrm");
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean "telegram"?') });
});

it("says what is wrong, for how long, what waits and what to do, and loses nothing", {
  tags: "slow",
  timeout: scaled(180_000),
}, async () => {
  const fake = await FakeBotApi.start();
  fake.chat(7);
  const config = `${offlineConfig}telegram: { token_env: BOT_TOKEN, api_root: "${fake.url}", users: [7] }\n`;
  const project = await aegisProject({ ".aegis.yaml": config });
  project.env.BOT_TOKEN = fake.token;
  const sees = async (state: string) =>
    waitUntil(`it is ${state}`, async () => (await project.aegis("status")).stdout.includes(`telegram: ${state}`));
  const told = async () => {
    const [status, doctor] = [await project.aegis("status"), await project.aegis("doctor")];
    expect(`${status.stdout}${doctor.stdout}`).not.toContain(fake.token);
    return { status: status.stdout, doctor: doctor.stdout, code: doctor.code };
  };
  const repaired = async () => {
    fake.accepts = true;
    expect((await project.aegis("channel", "test", "telegram")).stdout).toContain("connected as");
    await sees("ok");
  };
  const answers = () => fake.texts(7).filter((text) => !text.includes("A test message from Aegis.")).length;
  const badToken = "Telegram rejects the token";
  fake.accepts = false;
  await project.aegis("up");
  await sees("unauthorized");
  const bad = await told();
  expect(bad.status).toMatch(
    new RegExp(`telegram: unauthorized, ${badToken} .*@BotFather .* aegis channel test telegram`),
  );
  expect(bad.doctor).toMatch(new RegExp(`FAIL +channels +telegram: unauthorized, ${badToken}`));
  expect(bad.code).toBe(1);
  await repaired();

  // The token is revoked while a message is handled: the answer waits.
  fake.onceRead(() => {
    fake.accepts = false;
  });
  fake.say(7, "first");
  await sees("unauthorized");
  await waitUntil("the answer waits", async () => /deliver(y|ies) waiting/.test((await told()).status));
  await repaired();
  await waitUntil("the answer arrived", () => answers() >= 1);

  const before = answers();
  const description = "Too Many Requests: retry after 600";
  fake.planned.push({ method: "sendMessage", how: { code: 429, description, retry_after: 600 } });
  fake.say(7, "second");
  await sees("rate_limited");
  const limited = await told();
  expect(limited.status).toMatch(
    /rate_limited for \d+m?s, sendMessage: Too Many Requests: retry after 600 \(\d deliver/,
  );
  expect(limited.doctor).toMatch(/warn +channels +telegram: rate_limited for[\s\S]*nothing to do: Aegis waits/);
  expect(limited.code).toBe(0);
  await repaired();
  await waitUntil("the second arrived", () => answers() > before);

  fake.stop();
  await sees("unreachable");
  const down = await told();
  expect(down.status).toMatch(/unreachable for \S+, \w+: Telegram cannot be reached \(.*ECONN\w+.*\).*tries again/);
  expect(down.doctor).toMatch(/warn +channels +telegram: unreachable for/);
});

it("explains what is wrong with a channel", { ...timeout, tags: "slow" }, async () => {
  const hook = 'webhooks: { out: { ci: { url: "https://ci.example", secret_env: CI_SECRET } } }\n';
  const project = await aegisProject({ ".aegis.yaml": `${offlineConfig}${hook}` });
  await project.aegis("up");
  await waitUntil("it is off", async () => (await project.aegis("status")).stdout.includes("out:ci: off"));
  const { stdout, code } = await project.aegis("doctor");
  expect(stdout).toMatch(/FAIL +channels +out:ci: off, the variable CI_SECRET for the secret/);
  expect(stdout).toContain("export CI_SECRET, then restart the daemon");
  expect(code).toBe(1);
  expect(await project.aegis("channel", "pair")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no channel with people is configured"),
  });
  const bad = await aegisProject({ ".aegis.yaml": `${offlineConfig}telegram: { token: "1:x" }\n` });
  const refused = await bad.aegis("config", "show");
  expect(refused.stderr + refused.stdout).toMatch(/telegram\.token|unknown key/);
});
