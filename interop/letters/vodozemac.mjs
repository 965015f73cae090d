// vodozemac as a child process: one JSON request a line on standard input, one JSON answer a line on standard output.
// Driven by internal/letterbox/olmtest. vodozemac comes inside the Matrix crypto machine, so each letter travels
// as an event of a to-device message, and each of our accounts is introduced as a device. Machines are kept here under numbers.
import 'fake-indexeddb/auto';
import {createInterface} from 'node:readline';
import {
	DecryptionSettings, DeviceId, DeviceLists, OlmMachine, ProcessedToDeviceEventType, RequestType, TrustRequirement, UserId, getVersions, initAsync,
} from '@matrix-org/matrix-sdk-crypto-wasm';

const algorithm = 'm.olm.v1.curve25519-aes-sha2';
const peer = '@peer:test'; // the user whose devices our accounts are
const kept = [];

// The machine keeps a fallback key for a week: the clock is ours to move.
const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead;

const keep = (thing) => kept.push(thing) - 1;
const settings = () => new DecryptionSettings(TrustRequirement.Untrusted);
const sync = (machine, events, fallbacks) =>
	machine.receiveSyncChanges(JSON.stringify(events), new DeviceLists(), new Map([['signed_curve25519', 50]]), fallbacks, settings());

// upload takes what the machine wants to publish.
async function upload(machine) {
	for (const r of await machine.outgoingRequests()) {
		if (r.type !== RequestType.KeysUpload) continue;
		await machine.markRequestAsSent(r.id, r.type, JSON.stringify({one_time_key_counts: {signed_curve25519: 50}}));
		return JSON.parse(r.body);
	}
	throw new Error('the machine has nothing to publish');
}

const keysOf = (named) => Object.values(named ?? {}).map((k) => k.key);

// stored reads the values of one of the machine's stores; each holds JSON in base64.
function stored(name, store) {
	return new Promise((resolve, reject) => {
		const opening = indexedDB.open(`${name}::matrix-sdk-crypto`);
		opening.onerror = () => reject(opening.error);
		opening.onsuccess = () => {
			const reading = opening.result.transaction(store).objectStore(store).getAll();
			reading.onerror = () => reject(reading.error);
			reading.onsuccess = () => {
				opening.result.close();
				resolve(reading.result);
			};
		};
	});
}

const decoded = (text) => JSON.parse(Buffer.from(text, 'base64').toString());

const ops = {
	// account makes a machine; stored on request, so that its pickles can be read.
	async account({stored: inStore}) {
		const n = kept.length;
		const user = `@v${n}:test`;
		const name = inStore ? `store${n}` : undefined;
		const machine = await OlmMachine.initialize(new UserId(user), new DeviceId('V'), name);
		keep({machine, user, name});
		const published = await upload(machine);
		const {curve25519, ed25519} = machine.identityKeys;
		return {n, user, curve: curve25519.toBase64(), ed: ed25519.toBase64(), keys: keysOf(published.one_time_keys), vodozemac: getVersions().vodozemac};
	},

	// fallback makes the machine publish a new fallback key.
	async fallback({n}) {
		const {machine} = kept[n];
		ahead += 30 * 24 * 3600 * 1000;
		await sync(machine, [], new Set());
		return {keys: keysOf((await upload(machine)).fallback_keys)};
	},

	// meet introduces an account of ours, whose device keys it signed.
	async meet({n, device, keys}) {
		const {machine} = kept[n];
		const query = machine.queryKeysForUsers([new UserId(peer)]);
		await machine.updateTrackedUsers([new UserId(peer)]);
		await machine.markRequestAsSent(query.id, query.type, JSON.stringify({device_keys: {[peer]: {[device]: keys}}, failures: {}}));
		if (!(await machine.getDevice(new UserId(peer), new DeviceId(device)))) throw new Error('the machine does not accept the device');
		return {};
	},

	// outbound begins a session with a signed one-time or fallback key of ours.
	async outbound({n, device, key}) {
		const {machine} = kept[n];
		const claim = await machine.getMissingSessions([new UserId(peer)]);
		await machine.markRequestAsSent(claim.id, claim.type, JSON.stringify({
			one_time_keys: {[peer]: {[device]: {'signed_curve25519:AAAAAAAAAAA': key}}}, failures: {},
		}));
		return {};
	},

	async encrypt({n, device, text}) {
		const d = await kept[n].machine.getDevice(new UserId(peer), new DeviceId(device), 0);
		const {ciphertext} = JSON.parse(await d.encryptToDeviceEvent('test.letter', {text}));
		const [{type, body}] = Object.values(ciphertext);
		return {typ: type, body};
	},

	// decrypt opens letters that come in one sync, which is much faster than one by one. A text is null when its letter did not open.
	async decrypt({n, curve, letters}) {
		const {machine} = kept[n];
		const mine = machine.identityKeys.curve25519.toBase64();
		const events = await sync(machine, letters.map(({typ, body}) => ({
			type: 'm.room.encrypted', sender: peer, content: {algorithm, sender_key: curve, ciphertext: {[mine]: {type: typ, body}}},
		})));
		return {texts: events.map((e) => (e.type === ProcessedToDeviceEventType.Decrypted ? JSON.parse(e.rawEvent).content.text : null))};
	},

	// pickles are the account and the sessions as vodozemac serialises them.
	async pickles({n}) {
		const {name} = kept[n];
		const account = (await stored(name, 'core')).filter((v) => typeof v === 'string').map(decoded).find((v) => v?.pickle);
		const sessions = (await stored(name, 'session')).map((v) => decoded(v.pickle ?? v));
		return {account: JSON.stringify(account.pickle), sessions: sessions.map((s) => JSON.stringify(s.pickle))};
	},
};

await initAsync();
for await (const line of createInterface({input: process.stdin})) {
	const request = JSON.parse(line);
	let answer;
	try {
		answer = await ops[request.op](request);
	} catch (e) {
		answer = {error: String(e)};
	}
	process.stdout.write(JSON.stringify(answer) + '\n');
}
