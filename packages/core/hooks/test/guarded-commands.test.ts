/** Commands that act as the user, make git run programs, or end the daemon, in every spelling. */
import { commands } from "@aegis/cli/program/table.ts";
import { actingCommands, showingCommands } from "@aegis/contract/cli-commands.ts";
import { describe, expect, it } from "vitest";
import { decidingCommand } from "../src/aegis-commands.ts";
import { daemonKill } from "../src/daemon-kill.ts";
import { gitProgram } from "../src/git-programs.ts";

describe("a command of the Aegis CLI", () => {
  it("is listed by what it does, and what acts is found", () => {
    const paths = commands.map(({ path }) => path);
    expect([...actingCommands, ...showingCommands].toSorted()).toEqual(paths.toSorted());
    expect(paths.filter((path) => decidingCommand(`aegis ${path}`) !== null).toSorted()).toEqual(
      [...actingCommands].toSorted(),
    );
  });

  it.each([
    "aegis run --agent full 'rm -rf x'",
    "aegis run hello",
    "aegis send fon 'go on'",
    "aegis spawn full",
    "aegis queue enqueue q x --check 'touch x'",
    "aegis workflow run tdd_cycle",
    "aegis mcp --client x",
    "aegis client add x",
    "aegis some-new-command",
    "aegis",
    "script -qc aegis /dev/null",
    "npx aegis send fon x",
    "npx -y @x/aegis@0.3.0 run x",
    "/usr/local/bin/aegis send fon x",
    "./node_modules/.bin/aegis send fon x",
    "node dist/cli.js trust --yes",
    "'aegis' \"send\" fon x",
    "a\\egis se\\nd fon x",
    "aegis </dev/null send fon x",
    "aegis 2>/dev/null send fon x",
    "aegis -C . --json send fon x",
    "aegis --project=. send fon x",
    "echo x | aegis send fon",
    "true && aegis send fon x; true",
    "bash -c 'aegis send fon x'",
    "bash -c \"sh -c 'aegis trust'\"",
    "sh <<EOF\naegis send fon x\nEOF",
    "echo $(aegis send fon x)",
    'echo "$(aegis send fon x)"',
    "`aegis send fon x`",
    "X=1 env Y=2 aegis send fon x",
    "sudo -n timeout 5s aegis send fon x",
    "xargs aegis send fon < x",
    "{aegis,send,fon,x}",
    "aegis$IFS''send fon x",
    'python3 -c \'import subprocess; subprocess.run(["aegis","send","fon","x"])\'',
    "aegis doctor --fix",
    "aegis asks; aegis answer ask_1 allow",
    "aegis ps --yes",
  ])("%s is found", (command) => {
    expect(decidingCommand(command)).not.toBeNull();
  });

  it.each([
    "aegis ps",
    "aegis --help",
    "aegis help send && echo run",
    "aegis -C .. history dev",
    "aegis --json task list",
    "aegis history dev | head",
    "cd aegis && npm run build",
    "cd packages/aegis; npm run send",
    "git clone https://example.com/aegis",
    "grep -rn aegis src",
    "ls aegis",
    "git commit -m 'aegis: trust nobody'",
    "npm run build",
    "echo it's done",
  ])("%s is not", (command) => {
    expect(decidingCommand(command)).toBeNull();
  });
});

describe("a program of git", () => {
  it.each([
    "git config core.hooksPath hooks",
    "git config --global core.hooksPath /tmp/hooks",
    "git config --unset core.hooksPath",
    "git config set core.pager evil",
    "git config CORE.Pager evil",
    "git config core.sshCommand evil",
    "git config core.fsmonitor ./evil",
    "git config core.editor ./evil",
    "git config core.askPass ./evil",
    "git config sequence.editor ./evil",
    "git config credential.helper '!evil'",
    "git config credential.https://x.com.helper evil",
    "git config filter.lfs.clean evil",
    "git config filter.x.y.smudge evil",
    "git config filter.x.process evil",
    "git config diff.external evil",
    "git config diff.x.textconv evil",
    "git config diff.x.command evil",
    "git config difftool.x.cmd evil",
    "git config mergetool.x.cmd evil",
    "git config merge.x.driver evil",
    "git config gpg.program evil",
    "git config gpg.ssh.program evil",
    "git config pager.log evil",
    "git config alias.st '!evil'",
    "git config --add alias.st '!evil'",
    "git config include.path ../evil",
    "git config includeIf.gitdir:x.path ../evil",
    "git config init.templateDir evil",
    "git config remote.origin.uploadpack evil",
    "git config submodule.x.update '!evil'",
    "git config protocol.ext.allow always",
    "git config url.ext::evil.insteadOf https://x",
    "git config hook.x.command evil",
    "git -c alias.x='!evil' x",
    "git -c 'alias.x=!evil' x",
    'git -c "core.pager=evil" log',
    "git -c core.pager='cat; evil' log",
    "git -c core.hooksPath=/dev/null commit -m x",
    "git -C sub -c core.fsmonitor=./evil status",
    "git --config-env=core.pager=X log",
    "git --config-env core.pager=X log",
    "git clone -c core.fsmonitor=./evil x",
    "git clone --config core.fsmonitor=./evil x",
    "git init --template=evil",
    "g\\it con'fig' core.hooks\"Path\" x",
    "/usr/bin/git config core.hooksPath x",
    "cd sub && git config core.hooksPath x",
    "bash -c 'git config core.hooksPath x'",
    "{git,config,core.hooksPath,x}",
    'node -e \'execFileSync("git",["config","core.hooksPath","x"])\'',
    "GIT_SSH_COMMAND=evil git fetch",
    "GIT_SSH=./evil git fetch",
    "GIT_PAGER='cat; evil' git log",
    "GIT_EDITOR=./evil git commit",
    "GIT_SEQUENCE_EDITOR=./evil git rebase -i",
    "GIT_EXTERNAL_DIFF=./evil git diff",
    "GIT_ASKPASS=./evil git fetch",
    "GIT_PROXY_COMMAND=./evil git fetch",
    "GIT_EXEC_PATH=. git x",
    "GIT_TEMPLATE_DIR=evil git init",
    "GIT_CONFIG_GLOBAL=evil git log",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=evil git log",
    "env GIT_PAGER=evil git log",
    "export GIT_PAGER=evil",
  ])("%s is found", (command) => {
    expect(gitProgram(command)).not.toBeNull();
  });

  it.each([
    "git commit -m 'core.hooksPath is documented'",
    "git config user.name x",
    "git config --get core.hooksPath",
    "git config core.hooksPath",
    "git config get core.pager",
    "git config --list --show-origin",
    "git -c core.pager=cat log",
    "git -c core.editor=true rebase --continue",
    "git -c color.ui=false diff",
    "GIT_PAGER=cat git log",
    "GIT_EDITOR=true git rebase --continue",
    "GIT_EDITOR=: git rebase --continue",
    "GIT_AUTHOR_NAME=x git commit -m y",
    "git checkout -b alias.x",
    "git log --grep core.pager",
    "grep -rn core.pager docs",
  ])("%s is not", (command) => {
    expect(gitProgram(command)).toBeNull();
  });
});

describe("the end of the daemon", () => {
  const own = {
    pid: 4242,
    names: ["node", "MainThread"],
    commandLine: "/opt/node/bin/node /opt/aegis/dist/daemon.js /home/u/shop",
  };

  it.each([
    "kill 4242",
    "kill -9 4242",
    "kill -TERM -- -4242",
    "kill -9 -1",
    "/bin/kill 4242",
    "sleep 1; kill 4242",
    "bash -c 'kill 4242'",
    "pkill node",
    "pkill -9 node",
    "pkill -f aegis",
    "pkill -f daemon.js",
    "pkill -f '[a]egis.*daemon'",
    "pkill -f 'vite|aegis'",
    // Not run as a regular expression, which would take for ever.
    `pkill -f '${"(a+)+".repeat(40)}$'`,
    "killall node",
    "killall -9 node",
    "kill $(pgrep -f aegis)",
    "kill -9 `pidof node`",
    "pgrep -f daemon.js | xargs kill",
  ])("%s is found", (command) => {
    expect(daemonKill(command, own)).not.toBeNull();
  });

  it.each([
    "kill 17",
    "kill -1 17",
    "kill $SERVER",
    "pkill -f vite",
    "pkill python",
    "pkill aegis-tests",
    "killall firefox",
    "pgrep -f node",
    "git commit -m 'kill the old daemon'",
  ])("%s is not", (command) => {
    expect(daemonKill(command, own)).toBeNull();
  });
});
