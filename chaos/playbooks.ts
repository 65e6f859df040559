/** What the offline agents of a chaos run do with each message. */

/** Hands every token on to one session. */
const relay = `
rules:
  - name: keep what a peer hands over
    from: agent
    when: always
    steps:
      - say: "kept"
  - name: pass on
    when: token
    steps:
      - wait: 3
      - tool: aegis_handoff
        input: { target_handle: sink-one, context: "{text}" }
      - wait: 2
      - say: "passed on"
  - name: anything else
    when: always
    steps:
      - say: "noted"
`;

/** Answers with what it is to note. */
const noter = `
rules:
  - name: note
    when: '/^(?:objective: )?note (\\S+) (\\S+)/m'
    steps: [{ say: "{2} of {1}" }]
  - name: a task
    when: always
    steps: [{ say: done }]
`;

/** Gives work to others. It waits after each effect, so that kills fall between the effect and the end of the turn. */
const lead = `
rules:
  - name: give a task to a queue
    when: '/^task (order-\\w+)/'
    steps: [{ tool: aegis_enqueue, input: { queue: chores, payload: "note {1} chore" } }, { wait: 40 }, { say: given }]
  - name: give a task to an ACP agent
    when: '/^errand order-(\\w+)/'
    steps: [{ tool: aegis_enqueue, input: { queue: errands, payload: "act-{1}" } }, { wait: 40 }, { say: given }]
  - name: start a subagent
    when: '/^child (order-\\w+)/'
    steps:
      - tool: sessions_spawn
        input: { agent_id: noter, task: "note {1} child", label: "{1}", cleanup: delete }
      - wait: 40
      - say: started
  - name: act when permitted
    when: '/^permit (order-\\w+)/'
    steps:
      - { ask: "May I do {1}?", tool: act, input: { token: "{1}" }, save: decision }
      - { tool: aegis_handoff, input: { target_handle: sink-two, context: "{decision} {1}" } }
      - wait: 40
      - say: acted
  - name: ask a group
    when: '/^poll (order-\\w+)/'
    steps:
      - tool: aegis_group_broadcast
        input: { group: "{handle}", objective: "note {1} polled", output_format: words, tool_guidance: none, boundaries: none }
        save: sent
      - { tool: aegis_group_wait_all, input: { group: "{handle}", broadcast_id: "{sent.id}", timeout: 600 }, save: replies }
      - say: "{replies}"
  - name: hand on
    when: '/^tell (\\S+) (\\S+)/'
    steps: [{ tool: aegis_handoff, input: { target_handle: "{1}", context: "{2}" } }, { wait: 40 }, { say: told }]
  - name: anything else
    when: always
    steps: [{ say: heard }]
`;

export const playbooks: Readonly<Record<string, string>> = { relay, noter, lead };
