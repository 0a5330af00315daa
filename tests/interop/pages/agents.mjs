// Agents that run in processes of their own while their owner answers, stops them, or an operator freezes the account.
import { check, until } from './browser.mjs'
import { asOperator, assertNotReloaded, confirmIfAsked, dashboard, fillLabelled, mark } from './people.mjs'

export const settings = { PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE: '1000000' }

/** Calls that an agent makes before and after what ends its work. */
const SOME = 8

/** Waits until the agent works, so that what follows meets it in the middle. */
async function busy(worker) {
  await until('the agent works', () => worker.lines.filter((line) => line.status < 300).length >= SOME || null)
}

/** Waits until the agent was refused often enough since this moment, and checks that nothing begun since then succeeded. */
async function assertNothingSince(worker, moment, codes) {
  const since = () => worker.lines.filter((line) => line.began > moment)
  await until('the agent is refused', () => since().length >= SOME || null)
  const passed = since().filter((line) => line.status < 400)
  check(passed.length === 0, `begun afterwards and done: ${JSON.stringify(passed)}`)
  const others = since().filter((line) => !codes.includes(line.code))
  check(others.length === 0, `refused for another reason: ${JSON.stringify(others.slice(0, 3))}`)
}

/** How long after the press an agent still succeeded. */
function felt(what, worker, pressed) {
  const last = Math.max(pressed, ...worker.lines.filter((line) => line.status < 400).map((line) => line.ended))
  const refused = worker.lines.find((line) => line.status >= 400 && line.ended > pressed)
  console.log(`measured: ${what}: the last call that was done ended ${last - pressed} ms after the press, the first refusal came after ${refused.ended - pressed} ms`)
}

/** Presses the last button of an act and returns the moments of the press and of its answer. */
async function pressed(visitor, route, press) {
  // A request that has to be confirmed first is sent again.
  const answered = visitor.page.waitForResponse((response) => response.url().endsWith(route) && response.ok()).then(() => Date.now())
  const began = Date.now()
  await press()
  return { began, ended: await answered }
}

export const scenarios = {
  async 'a payment from the agents’ wallet appears in its statement and in the spending'({ browser, service }) {
    const agent = service.agent('payer')
    await agent.call('createAgentWallet')
    const key = await agent.key('Courier')
    const visitor = await dashboard({ browser, service }, agent, '/statement')
    await visitor.press('.segments button', 'Agents’ wallet')
    // What it has is in its statement before it pays anything.
    await visitor.sees('main', 'Received on Solana')
    await visitor.sees('dl', 'Available now $20,000.00')
    await agent.call('agentWalletTransfer', { toAddress: await agent.address(), amountUsdc: 2, note: 'lunch' }, key.token)
    await visitor.sees('main', 'by Courier')
    await visitor.sees('main', '“lunch”')
    await visitor.sees('main', 'Received on Base')
    await visitor.inspect('holder-statement-agents')
    await visitor.press('.segments button', 'All purchases')
    await visitor.sees('main', 'Transfer to')
    await visitor.sees('main', 'by Courier')
    await visitor.sees('dl', 'Spent $2.00')
    await visitor.inspect('holder-statement-purchases')
    await visitor.page.evaluate(() => { window.print = () => { window.printed = document.querySelectorAll('main tbody tr').length } })
    await visitor.press('main button', 'Print')
    await until('the print', async () => (await visitor.page.evaluate(() => window.printed)) || null)
    await visitor.page.emulateMediaType('print')
    await visitor.sees('.print-head', 'Statement of all purchases')
    check(!(await visitor.page.$eval('.period', (bar) => bar.checkVisibility())), 'paper has no choice of the period')
    // Paper is narrower than the width at which rows are folded.
    const screen = visitor.page.viewport()
    await visitor.page.setViewport({ width: 680, height: 900 })
    const columns = (row) => visitor.page.$$eval(`main ${row} > *`, (cells) => cells.filter((cell) => cell.checkVisibility()).length)
    check((await columns('thead tr')) === 4 && (await columns('tbody tr:first-child')) === 4, 'paper has all columns')
    await visitor.page.setViewport(screen)
    await visitor.page.emulateMediaType('screen')
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('main', 'Today $2.00')
  },

  async 'an agent asks for an approval, its owner gives one on the page and declines another'({ browser, service }) {
    const agent = service.agent('asker')
    await agent.call('createAgentWallet')
    const key = await agent.key('Courier')
    const to = await agent.address()
    const visitor = await dashboard({ browser, service }, agent, '/agents')
    await fillLabelled(visitor, 'In one payment', '1.50', 'main')
    await visitor.press('main label.check', 'Ask me about payments')
    await visitor.press('main button', 'Save')
    await visitor.sees('.toasts', 'Limits saved')
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await mark(visitor)

    const first = service.works({ work: 'asks', token: key.token, to, note: 'lunch' })
    const asked = await first.says('asked')
    check(asked.asked === 202 && asked.id, `the agent is asked to wait: ${JSON.stringify(asked)}`)
    await visitor.sees('#needs-you', 'Courier wants to send $2.00')
    await until('the title says it', async () => (await visitor.page.title()).startsWith('(1)') || null)
    await visitor.inspect('holder-home-approval')
    await visitor.press('#needs-you button', 'Look at it')
    await visitor.sees('dialog', 'Let Courier send $2.00')
    await visitor.inspect('holder-approval-dialog')
    check(!first.lines.some((line) => 'answered' in line), 'it waits until the owner answers')
    await visitor.press('dialog button', 'Approve once')
    check((await first.says('answered')).answered === 'approved', 'the agent hears of it')
    check((await first.says('done')).done === 200, 'what was approved is done')
    check((await first.says('goes_on')).goes_on === 200, 'the agent goes on')
    await until('nothing waits', async () => !(await visitor.text('main')).includes('Courier wants to') || null)

    const second = service.works({ work: 'asks', token: key.token, to, note: 'dinner' })
    check((await second.says('asked')).asked === 202, 'the limit stays')
    await visitor.sees('#needs-you', '“dinner”')
    await visitor.press('#needs-you button', 'Decline')
    await visitor.sees('dialog', 'Decline to let')
    await visitor.press('dialog button', 'Decline it')
    check((await second.says('answered')).answered === 'declined', 'the agent hears of it')
    const refused = await second.says('done')
    check(refused.done === 403 && refused.code === 'approval_declined', `declined: ${JSON.stringify(refused)}`)
    check((await second.says('goes_on')).goes_on === 200, 'the agent goes on')
    await assertNotReloaded(visitor)
    await visitor.open(`${service.url}/dashboard/agents`)
    await visitor.sees('main h2', 'Decided')
    await visitor.inspect('holder-agents-decided')
    for (const one of [first, second]) await one.end()
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'an approval of a payout in euros says what its recipient gets, the fee and the rate'({ browser, service }) {
    const agent = service.agent('converter')
    await agent.call('createAgentWallet')
    const key = await agent.key('Courier')
    const visitor = await dashboard({ browser, service }, agent, '/agents')
    await fillLabelled(visitor, 'In one payment', '1.50', 'main')
    await visitor.press('main label.check', 'Ask me about payments')
    await visitor.press('main button', 'Save')
    await visitor.sees('.toasts', 'Limits saved')
    await agent.call('agentX402Pay', { url: `${service.url}/get-push-to-card?amount=25&currency=EUR` }, key.token)
    await visitor.sees('main', 'wants to pay out €25.00 to a debit card')
    await visitor.press('main button', 'Look at it')
    await visitor.sees('dialog', 'Recipient gets €25.00')
    // As on its receipt.
    await visitor.sees('dialog', 'Fee about $1.63')
    await until('the rate', async () => /Recipient gets €25\.00 for \$27\.11, at about 1\.\d{4} USD for 1 EUR/.test((await visitor.text('dialog')).replaceAll(/\s+/g, ' ')) || null)
    await visitor.inspect('holder-approval-euros')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'Stop my agents ends the work of running agents at once'({ browser, service }) {
    const agent = service.agent('stopped')
    await agent.call('createAgentWallet')
    const to = await agent.address()
    const keys = [await agent.key('Courier'), await agent.key('Scout')]
    const tokens = [await agent.token(), ...keys.map((key) => key.token)]
    const visitor = await dashboard({ browser, service }, agent, '/agents')
    const workers = tokens.map((token, at) => service.works({ work: 'spends', token, to, note: `worker ${at}` }))
    for (const worker of workers) await busy(worker)
    await visitor.press('#stop-agents')
    await visitor.sees('dialog', 'Stop all your agents?')
    const stop = await pressed(visitor, '/account/stop-agents', () => visitor.press('dialog button', 'Stop my agents'))
    for (const worker of workers) await assertNothingSince(worker, stop.ended, ['agents_stopped', 'token_revoked'])
    workers.forEach((worker, at) => felt(`stop of agent ${at}`, worker, stop.began))
    const paid = await agent.pay('/get-card?amount=5').then(() => null, (error) => `${error.stdout}${error.stderr}`)
    check(paid?.includes('agents_stopped'), `its own wallet buys nothing: ${paid}`)
    await visitor.sees('main', 'Your agents were stopped')
    for (const worker of workers) await worker.end()
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a freeze by an operator is felt at once by the agent and on its owner’s page'({ browser, service }) {
    const agent = service.agent('frozen')
    await agent.call('createAgentWallet')
    const to = await agent.address()
    const owner = await dashboard({ browser, service }, agent)
    owner.expects(/status of 403|4003/)
    await mark(owner)
    const worker = service.works({ work: 'spends', token: await agent.token(), to })
    await busy(worker)
    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/customers/${to}`)
    await visitor.press('main button', 'Freeze')
    await visitor.sees('dialog', 'Agents get 403 on every call')
    await visitor.inspect('desk-freeze-dialog')
    const freeze = await pressed(visitor, '/admin/freeze', async () => {
      await visitor.press('dialog button', 'Freeze account')
      await confirmIfAsked(visitor, 'body', 'Frozen')
    })
    await owner.sees('h1', 'This account is frozen')
    console.log(`measured: the owner's page shows the freeze ${Date.now() - freeze.began} ms after the press`)
    await assertNothingSince(worker, freeze.ended, ['account_frozen'])
    felt('freeze', worker, freeze.began)
    await owner.sees('main', 'Please write to us before anything else is bought')
    await assertNotReloaded(owner)
    await visitor.sees('main', 'This account is frozen')
    await visitor.inspect('desk-customer-frozen')
    await visitor.press('main button', 'Unfreeze')
    await visitor.press('dialog button', 'Unfreeze account')
    await confirmIfAsked(visitor, 'body', 'Unfrozen')
    await owner.press('main button', 'Look again')
    await owner.sees('.connection', 'Live')
    await until('the agent goes on', () => worker.lines.at(-1).status < 300 || null)
    await worker.end()
    visitor.assertClean(service.deskUrl)
    await visitor.close()
    owner.assertClean(service.url)
    await owner.close()
  },
}
