// What a screen reader gets of the main screens: the tree that the browser hands to it, in the order in which it is read.
import { SIZES, check, until } from './browser.mjs'
import { asOperator, colleague, dashboard, loaded, ownersAct } from './people.mjs'

export const settings = { PURSER_ENGINE__MAX_ATTEMPTS: '2', PURSER_ENGINE__INITIAL_BACKOFF_MS: '1' }

const LANDMARKS = ['banner', 'complementary', 'contentinfo', 'form', 'main', 'navigation', 'region', 'search']
const CONTROLS = ['button', 'checkbox', 'combobox', 'DisclosureTriangle', 'link', 'radio', 'searchbox', 'textbox']

/** The tree as a list in reading order. Each node knows those around it. */
async function read(visitor) {
  const { nodes } = await visitor.cdp.send('Accessibility.getFullAXTree')
  const byId = new Map(nodes.map((node) => [node.nodeId, node]))
  const found = []
  const visit = (node, around) => {
    const property = (name) => node.properties?.find((one) => one.name === name)?.value?.value
    const one = {
      role: node.role?.value ?? '',
      name: (node.name?.value ?? '').replaceAll(/\s+/g, ' ').trim(),
      description: node.description?.value ?? '',
      level: property('level'),
      url: property('url'),
      around,
    }
    if (!node.ignored) found.push(one)
    for (const id of node.childIds ?? []) {
      const child = byId.get(id)
      if (child) visit(child, node.ignored ? around : [...around, one])
    }
  }
  visit(nodes.find((node) => node.parentId === undefined), [])
  return found
}

const inside = (node, role) => node.around.some((one) => one.role === role)

function groups(all, key) {
  const found = new Map()
  for (const one of all) found.set(key(one), [...(found.get(key(one)) ?? []), one])
  return found
}

/** Headings in an order that has no holes, below one of the first level. */
function outline(tree) {
  const headings = tree.filter((node) => node.role === 'heading')
  const found = []
  const first = headings.filter((heading) => heading.level === 1)
  if (first.length !== 1) found.push(`${first.length} headings of the first level: ${first.map((one) => one.name).join(', ')}`)
  headings.forEach((heading, at) => {
    if (heading.name === '') found.push('a heading without a text')
    if (heading.level > (headings[at - 1]?.level ?? 0) + 1) found.push(`"${heading.name}" of level ${heading.level} skips one`)
  })
  return found
}

/** Parts of the page that a person can jump to: each has its own name, and the main one comes after the navigation. */
function landmarks(tree, isNarrow) {
  const found = []
  const parts = tree.filter((node) => LANDMARKS.includes(node.role))
  for (const role of LANDMARKS) {
    const names = parts.filter((part) => part.role === role).map((part) => part.name)
    if (role === 'region' && names.includes('')) found.push('a region without a name')
    const twice = names.filter((name, at) => names.indexOf(name) !== at)
    if (twice.length > 0) found.push(`${role} of the same name: "${twice.join('", "')}"`)
  }
  const order = ['banner', 'main'].map((role) => parts.findIndex((part) => part.role === role))
  if (order.includes(-1) || order[0] > order[1]) found.push(`banner and main are at ${order.join(' and ')} of the parts`)
  const navigation = parts.findIndex((part) => part.role === 'navigation' && part.name.startsWith('Main'))
  if (navigation === -1 || (!isNarrow && navigation > order[1])) found.push('the navigation is not before what it navigates')
  const first = tree.find((node) => CONTROLS.includes(node.role))
  if (first?.name !== 'Skip to content') found.push(`the first control is "${first?.name}"`)
  return found
}

/** A name that says enough alone: no two links of one name lead to different pages, no two buttons of one name do different things. */
function names(tree) {
  const found = []
  const links = groups(tree.filter((node) => node.role === 'link'), (node) => node.name)
  for (const [name, all] of links) {
    const targets = new Set(all.map((link) => link.url))
    if (targets.size > 1) found.push(`"${name}" leads to ${[...targets].join(' and ')}`)
  }
  // A choice is named by its group. What is copied is named by the button, so equal names copy the same.
  const group = (node) => node.around.findLast((one) => one.role === 'group' && one.name !== '')?.name ?? ''
  const buttons = tree.filter((node) => ['button', 'DisclosureTriangle'].includes(node.role) && inside(node, 'main') && !node.name.startsWith('Copy '))
  for (const [name, all] of groups(buttons, (node) => `${node.name}|${group(node)}`)) {
    if (all.length > 1) found.push(`${all.length} buttons "${name.split('|')[0]}" in ${all.map((one) => one.around.findLast((part) => part.role === 'region')?.name ?? 'no region').join(', ')}`)
  }
  return found
}

/** Tables have a name, and each cell has a heading of its row and, where there are several in a row, of its column. */
function tables(tree) {
  const found = []
  for (const table of tree.filter((node) => node.role === 'table')) {
    const of = (role, around) => tree.filter((node) => node.role === role && node.around.includes(around))
    if (table.name === '') found.push('a table without a caption')
    const rows = of('row', table).map((row) => ({ cells: of('cell', row).length, headings: of('rowheader', row).length }))
    const columns = of('columnheader', table)
    const isWide = rows.some((row) => row.cells > 1)
    if (columns.some((column) => column.name === '') || (isWide && columns.length === 0)) found.push(`"${table.name}" has a column without a heading`)
    // A single cell across a row is a remark on those above.
    const bare = rows.filter((row) => row.cells > 1 && row.headings === 0)
    if (bare.length > 0) found.push(`"${table.name}" has ${bare.length} rows without a heading`)
  }
  return found
}

/** Runs in the page: in each column, what is read earlier is higher. */
function wrongPlaces() {
  const parts = [...document.querySelectorAll('main h1, main h2, main section[aria-labelledby]')].filter((part) => part.checkVisibility() && part.offsetWidth > 1)
  const boxes = parts.map((part) => ({ box: part.getBoundingClientRect(), text: part.innerText.split('\n')[0] }))
  return boxes.flatMap(({ box, text }, at) =>
    boxes
      .slice(0, at)
      .filter((before) => before.box.left < box.right && box.left < before.box.right && before.box.top > box.top + 1)
      .map((before) => `"${text}" is read after "${before.text}" and is above it`),
  )
}

/** Reads a screen on a desktop and a phone. Its main parts must come in this order; others may be between them. */
async function assertReads(visitor, screen, parts) {
  const found = []
  for (const size of Object.keys(SIZES)) {
    await visitor.looks(size, 'light')
    const tree = await read(visitor)
    const wrong = [...outline(tree), ...landmarks(tree, size === 'phone'), ...names(tree), ...tables(tree), ...(await visitor.page.evaluate(wrongPlaces))]
    const nameless = tree.filter((node) => CONTROLS.includes(node.role) && node.name === '')
    if (nameless.length > 0) wrong.push(`controls without a name: ${nameless.map((node) => node.role).join(', ')}`)
    const headings = tree.filter((node) => node.role === 'heading' && inside(node, 'main')).map((node) => node.name)
    let at = -1
    for (const part of parts) {
      at = headings.findIndex((heading, index) => index > at && heading.startsWith(part))
      if (at === -1) {
        wrong.push(`"${part}" is missing or in another order: ${headings.join(' · ')}`)
        break
      }
    }
    found.push(...wrong.map((one) => `${screen}, ${size}: ${one}`))
  }
  await visitor.looks('desktop', 'light')
  return found
}

/** The open dialog has a name that is its heading, and its text is read with it. */
async function assertDialog(visitor, title) {
  const tree = await read(visitor)
  const dialogs = tree.filter((node) => node.role === 'dialog')
  check(dialogs.length === 1 && dialogs[0].name.startsWith(title), `the dialog is named ${dialogs.map((one) => one.name).join(', ')}`)
  check(dialogs[0].description !== '', `"${title}" has no description`)
  const heading = tree.find((node) => node.role === 'heading' && node.around.includes(dialogs[0]))
  check(heading?.name === dialogs[0].name, `its first heading is "${heading?.name}"`)
}

/** Waits until a live region says this. It is remembered while the page changes: a screen reader hears it once. */
async function hears(visitor, text) {
  await until(`a live region says "${text}"`, () => visitor.page.evaluate((text) => window.heard.some((one) => one.includes(text)) || null, text))
}

async function listen(visitor) {
  await visitor.page.evaluate(() => {
    window.heard = []
    const note = () => {
      for (const region of document.querySelectorAll('[role=status], [role=alert], [aria-live=polite]')) {
        const text = region.innerText.replaceAll(/\s+/g, ' ').trim()
        if (text !== '' && window.heard.at(-1) !== text) window.heard.push(text)
      }
    }
    new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true })
  })
}

export const scenarios = {
  async 'the screens of an owner are read in order'({ browser, service }) {
    const agent = service.agent('read')
    await agent.call('createAgentWallet')
    const wallet = await agent.address()
    const key = await agent.key('Courier')
    await agent.key('Larder')
    await service.post('/sandbox/link', { wallet, linked: true })
    const { card_id } = await agent.pay('/get-card?amount=20')
    await agent.pay('/get-card?amount=30')
    const payout = await agent.pay('/get-push-to-card?amount=25&currency=EUR')
    await agent.pay('/get-push-to-card?amount=30&currency=EUR')
    await agent.pay('/get-card?amount=6.66')
    await agent.call('saveAddressBookEntry', { name: 'Office', address: wallet })
    await until('the card', async () => (await agent.get(`/get-card-data?card_id=${card_id}`)).body.status === 'ready' || null)
    await service.post('/sandbox/charge', { card_id, amount: '3.50', merchant: 'Corner Shop' })
    const visitor = await dashboard({ browser, service }, agent)
    const limits = await ownersAct(visitor, '/account/spending', { per_call_usd: '10', approvals: true })
    check(limits.status === 200, JSON.stringify(limits))
    // Two that wait: each has buttons with names of its own.
    for (const amount of ['40', '50']) {
      const asked = await service.post('/agentX402Pay', { data: { route: '/get-card', params: { amount } } }, { authorization: `Bearer ${key.token}` })
      check(asked.status < 300, asked.text)
    }
    const found = []
    for (const [page, parts] of [
      ['', ['Available', 'Needs you', 'What your agents did', 'On its way', 'Spending', 'Agents today']],
      ['/cards', ['Cards']],
      [`/cards/${card_id}`, ['', 'On this card', 'Details', 'Charges', 'Timeline', 'Receipt']],
      ['/transfers', ['Transfers', 'On its way', 'All transfers', 'Address book']],
      [`/transfers/${payout.payout_id}`, ['Payout', 'Legs', 'Timeline', 'Details', 'Receipt']],
      ['/agents', ['Agents and limits', 'Stop my agents', 'Waits for your yes', 'Agents', 'What agents may spend', 'What they may buy']],
      ['/statement', ['Statement']],
      ['/settings', ['Settings', 'Ways in', 'Signed in now', 'Identity', 'Webhooks']],
    ]) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      found.push(...(await assertReads(visitor, page || '/', parts)))
    }
    check(found.length === 0, found.join('\n'))

    for (const [page, button, title] of [['', 'Withdraw', 'Withdraw'], ['/agents', 'Stop my agents', 'Stop all your agents?'], ['/agents', 'Decline', 'Decline to let Courier'], [`/cards/${card_id}`, 'Close card', 'Close']]) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await visitor.press('main button', button)
      await visitor.sees('dialog', title)
      await assertDialog(visitor, title)
    }

    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await loaded(visitor)
    await listen(visitor)
    const last = await agent.pay('/get-card?amount=21')
    await hears(visitor, 'bought a $21.00 US card')
    // The faults of the next scenario are not for this card.
    await until('the card', async () => (await agent.get(`/get-card-data?card_id=${last.card_id}`)).body.status === 'ready' || null)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'the screens of the desk are read in order'({ browser, service }) {
    const customer = service.agent('customer')
    const { user_id } = await customer.pay('/get-card?amount=300')
    await service.agent('traveller').pay('/order-intl-card?amount=250')
    const order = (await service.agent('tourist').pay('/order-intl-card?amount=140')).intl_card_order
    await service.post('/sandbox/issuer', { fault: 'unreachable', times: 4 })
    for (const amount of [260, 45]) await service.agent(`unlucky ${amount}`).pay(`/get-card?amount=${amount}`)
    await colleague(service, 'ben')
    const { visitor } = await asOperator({ browser, service })
    const found = []
    for (const [page, parts] of [
      ['', ['Home', 'Waits for a person', 'Providers and chains', 'Paid calls', 'Money held and owed', 'What operators did']],
      [`/orders?id=${order.card_id}`, ['International orders', 'Order of $140.00']],
      ['/stuck', ['A US card', 'What you can do', 'Timeline']],
      [`/customers/${user_id}`, ['', 'Timeline', 'Open work', 'Money', 'Notes', 'Owns']],
      ['/audit', ['Audit log']],
      ['/reconciliation', ['Reconciliation']],
    ]) {
      await visitor.open(`${service.deskUrl}/desk${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      found.push(...(await assertReads(visitor, `desk${page}`, parts)))
    }
    check(found.length === 0, found.join('\n'))

    await visitor.open(`${service.deskUrl}/desk/stuck`)
    await visitor.sees('.connection', 'Live')
    await loaded(visitor)
    await visitor.press('main button', 'Credit back')
    await visitor.sees('dialog', 'Credit')
    await assertDialog(visitor, 'Credit')
    await visitor.open(`${service.deskUrl}/desk`)
    await visitor.sees('.connection', 'Live')
    await loaded(visitor)
    await listen(visitor)
    await service.agent('newcomer').pay('/order-intl-card?amount=120')
    await hears(visitor, 'A new international order')
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },
}
