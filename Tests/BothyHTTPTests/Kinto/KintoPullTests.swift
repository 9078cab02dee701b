import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

@Suite("Pulling from Kinto", .timeLimit(.minutes(5)))
struct KintoPullTests {
  /// A collection that behaves like Kinto's: listings by timestamp, tombstones only with `_since`, pages by token.
  private final class Shelf: Sendable {
    let objects = Mutex<[String: [JSONValue]]>([:])
    let epochs = Mutex<[String: String]>([:])

    func put(_ collection: String, _ objects: JSONValue..., epoch: String = "e") {
      epochs.withLock { $0[collection] = epoch }
      self.objects.withLock { $0[collection, default: []] += objects }
    }

    func answer(_ call: ScriptedKinto.Call) -> ScriptedKinto.Answer {
      let parts = call.path.split(separator: "?", maxSplits: 1)
      let epochs = epochs.withLock { $0 }
      if parts[0].hasSuffix("/collections") {
        let list = epochs.sorted { $0.key < $1.key }.map { entry -> JSONValue in
          ["id": .string(entry.key), "last_modified": 1, "bothy": ["epoch": .string(entry.value)]]
        }
        return .data(.array(list), at: 1)
      }
      let name = String(parts[0].split(separator: "/")[3])
      guard epochs[name] != nil else { return .error(404, 111) }
      var query: [Substring: Int64] = [:]
      for part in parts[1].split(separator: "&") {
        let pair = part.split(separator: "=")
        query[pair[0]] = Int64(pair[1])
      }
      let time = { (json: JSONValue) in json["last_modified"]?.intValue ?? 0 }
      let all = objects.withLock { $0[name] ?? [] }.sorted { time($0) < time($1) }
      let newest = all.last.map(time) ?? 1
      let after = max(query["_since"] ?? 0, query["_token"] ?? 0)
      let listed = all.filter { time($0) > after && (query["_since"] != nil || $0["deleted"] == nil) }
      let page = Array(listed.prefix(Int(query["_limit"] ?? 1000)))
      let next = page.count < listed.count ? page.last.map { String(time($0)) } : nil
      return .data(.array(page), at: newest, next: next)
    }
  }

  private let shelf = Shelf()
  private let time = VirtualTime(ScriptedKinto.time)

  private func kinto() -> ScriptedKinto { ScriptedKinto { [shelf] in shelf.answer($0) } }

  private func remote(_ kinto: ScriptedKinto, _ options: KintoOptions = KintoOptions()) -> KintoRemote {
    KintoRemote(kinto, options: options, now: time.reader())
  }

  private func pull(
    _ remote: KintoRemote, _ cursor: String? = nil, limit: Int = 1000, scope: SyncScope = .everything
  ) async throws -> SyncResponse.Page {
    try await remote.exchange(
      SyncRequest(device: "d1", pulls: [.init(scope, cursor: cursor)], limit: limit)
    ).pages[0]
  }

  private func note(_ id: String, _ timestamp: Int64, container: String? = nil) -> JSONValue {
    var members: [String: JSONValue] = [
      "id": .string(id), "last_modified": .int(timestamp), "title": .string(id),
    ]
    if let container { members["_container"] = .string(container) }
    return .object(members)
  }

  private func tombstone(_ id: String, _ timestamp: Int64) -> JSONValue {
    ["id": .string(id), "last_modified": .int(timestamp), "deleted": true]
  }

  @Test(
    "The first pull is a snapshot without tombstones, and the next has all changes")
  func increments() async throws {
    shelf.put("Todo", note("a", 10), tombstone("b", 20), note("c", 30, container: "trips/oslo"))
    shelf.put("List", note("l", 5))
    let kinto = kinto()
    let remote = remote(kinto)
    let first = try await pull(remote)
    #expect(first.reset)
    #expect(!first.more)
    #expect(Set(first.changes.map(\.id.description)).count == 3)
    #expect(Set(first.changes.map(\.container)) == ["Todo", "List", "trips/oslo"])
    #expect(first.changes.allSatisfy { !$0.isDeleted })
    shelf.put("Todo", tombstone("a", 40), note("d", 50))
    kinto.forgetCalls()
    let second = try await pull(remote, first.cursor)
    #expect(!second.reset)
    #expect(second.changes.map(\.version) == ["40", "50"])
    #expect(second.changes.map(\.isDeleted) == [true, false])
    #expect(kinto.batches == [3], "one round trip: the list of collections and both of them")
    #expect(try await pull(remote, second.cursor).changes.isEmpty)
  }

  @Test("Pages follow the server's tokens, and only unfinished collections are requested again")
  func pages() async throws {
    for number in 1...7 { shelf.put("Todo", note("t\(number)", Int64(number * 10))) }
    shelf.put("List", note("l", 5))
    let kinto = kinto()
    let remote = remote(kinto)
    var page = try await pull(remote, limit: 4)
    #expect(page.more)
    var found = page.changes
    while page.more {
      kinto.forgetCalls()
      page = try await pull(remote, page.cursor, limit: 4)
      #expect(!page.reset)
      #expect(kinto.calls.filter { $0.path.contains("/List/") }.isEmpty)
      found += page.changes
    }
    #expect(found.count == 8)
    #expect(Set(found.map(\.id)).count == 8)
  }

  @Test("Changes and deletions during a paged read are not missed")
  func changesWhilePaging() async throws {
    for number in 1...4 { shelf.put("Todo", note("t\(number)", Int64(number * 10))) }
    let remote = remote(kinto())
    let first = try await pull(remote, limit: 2)
    shelf.objects.withLock { $0["Todo"] = $0["Todo"]?.filter { $0["id"] != "t1" } }
    shelf.put("Todo", tombstone("t1", 50), note("t9", 60))
    let second = try await pull(remote, first.cursor, limit: 5)
    #expect(!second.more)
    let third = try await pull(remote, second.cursor)
    #expect(third.changes.contains { $0.id.id == "t1" && $0.isDeleted })
    #expect((second.changes + third.changes).contains { $0.id.id == "t9" })
  }

  @Test("A new type on the server arrives with the next pull without a reset")
  func newType() async throws {
    shelf.put("Todo", note("a", 10))
    let remote = remote(kinto())
    var page = try await pull(remote)
    shelf.put("List", note("l", 5))
    var found: [String] = []
    repeat {
      page = try await pull(remote, page.cursor)
      #expect(!page.reset)
      found += page.changes.map(\.id.id)
    } while page.more
    #expect(found == ["l"])
  }

  /// Promises: H-11
  @Test(
    "A server with lost or older data is read again as a complete snapshot",
    arguments: ["flushed", "restored", "gone"])
  func resets(_ how: String) async throws {
    shelf.put("Todo", note("a", 10), note("b", 20))
    let remote = remote(kinto())
    let first = try await pull(remote)
    switch how {
    case "flushed":
      shelf.objects.withLock { $0 = [:] }
      shelf.put("Todo", note("c", 90), epoch: "another")
    case "restored": shelf.objects.withLock { $0["Todo"] = [note("a", 10)] }
    default: shelf.epochs.withLock { $0 = [:] }
    }
    let second = try await pull(remote, first.cursor)
    #expect(second.reset && second.isOtherHistory)
    #expect(!first.isOtherHistory)
    #expect(second.changes.map(\.id.id) == (how == "flushed" ? ["c"] : how == "restored" ? ["a"] : []))
    let third = try await pull(remote, second.cursor)
    #expect(!third.reset)
  }

  @Test("A foreign cursor, or one old enough for purged tombstones, starts over")
  func strangeCursors() async throws {
    shelf.put("Todo", note("a", 10))
    let remote = remote(kinto())
    let strange = try await pull(remote, "epoch.5.mark")
    #expect(strange.reset && strange.isOtherHistory)
    let cursor = try await pull(remote).cursor
    time.advance(by: 29 * 86_400_000)
    #expect(try await pull(remote, cursor).reset == false)
    time.advance(by: 2 * 86_400_000)
    let old = try await pull(remote, cursor)
    #expect(old.reset && !old.isOtherHistory)
  }

  @Test(
    "A change that was committed late is found, and other changes are not repeated")
  func lateCommit() async throws {
    let now = ScriptedKinto.time
    shelf.put("Todo", note("a", now - 60_000))
    let remote = remote(kinto())
    let first = try await pull(remote)
    shelf.put("Todo", note("c", now - 100))
    let second = try await pull(remote, first.cursor)
    #expect(second.changes.map(\.id.id) == ["c"])
    shelf.put("Todo", note("b", now - 3000))
    time.advance(by: 11_000)
    let third = try await pull(remote, second.cursor)
    #expect(third.changes.map(\.id.id) == ["b"])
  }

  @Test("A pull of a scope has only changes of its containers, and all tombstones")
  func scopes() async throws {
    shelf.put(
      "Todo", note("a", 10), note("b", 20, container: "trips/oslo"), note("c", 30, container: "trips"))
    let remote = remote(kinto())
    let trips = SyncScope(container: "trips", includesChildren: true)
    let first = try await pull(remote, scope: trips)
    #expect(first.changes.map(\.id.id) == ["b", "c"])
    shelf.put("Todo", tombstone("b", 40))
    #expect(try await pull(remote, first.cursor, scope: trips).changes.map(\.id.id) == ["b"])
    #expect(try await pull(remote, scope: SyncScope(container: "trips")).changes.map(\.id.id) == ["c"])
  }

  @Test("A record that moved out of a scope is reported as out of scope")
  func moves() async throws {
    shelf.put("Todo", note("a", 10, container: "trips"), note("b", 20, container: "home"))
    let kinto = kinto()
    let remote = remote(kinto)
    let trips = SyncScope(container: "trips", includesChildren: true)
    let first = try await pull(remote, scope: trips)
    shelf.objects.withLock { objects in
      objects["Todo"] = [
        ["id": "a", "last_modified": 30, "_container": "home", "_moved": true],
        note("b", 40, container: "home"),
      ]
    }
    let second = try await pull(remote, first.cursor, scope: trips)
    #expect(second.changes.isEmpty)
    #expect(second.outOfScope == [RecordID(type: "Todo", id: "a")])
    kinto.forgetCalls()
    kinto.setScript { _ in .data(["_container": "home"], at: 50) }
    let move = SyncOperation(
      id: "o", kind: .update, record: RecordID(type: "Todo", id: "b"), container: "trips", base: "40",
      modified: 7)
    _ = try await remote.exchange(SyncRequest(device: "d1", operations: [move]))
    #expect(kinto.calls[0].data == ["_container": "trips", "_moved": true, "_modified": 7, "_by_d1": "o"])
  }

  @Test("Records of other clients have the type's container and the server's time")
  func foreignRecords() async throws {
    shelf.put(
      "Todo", note("a", 10), ["id": "x_not-ours", "last_modified": 20, "_modified": 99, "schema": 4, "n": 1])
    let changes = try await pull(remote(kinto())).changes
    #expect(changes.map(\.container) == ["Todo", "Todo"])
    #expect(changes.map(\.modified) == [10, 20])
    #expect(changes[1].id.id == "x_not-ours")
    #expect(changes[1].fields == FieldsDocument(["n": 1]))
  }
}

@Suite("Names in Kinto", .timeLimit(.minutes(5)))
struct KintoNameTests {
  /// Promises: H-64
  @Test(
    "Every name becomes a valid Kinto id and is decoded again",
    arguments: [
      "", "a", "Todo", "018f-ab", "x:nil", "a/b?c=d", "Æ/ø", "-a", "_", "__", "0__", "0__a", "_3A", "a_3A",
      "\u{1F3D4}",
      " ", "%41", "a.b", "e\u{301}", "é", "\n",
    ])
  func roundTrip(_ name: String) throws {
    let id = KintoName.encode(name)
    #expect(id.wholeMatch(of: /[a-zA-Z0-9][a-zA-Z0-9_-]*/) != nil, "\(id)")
    #expect(KintoName.decode(id).utf8.elementsEqual(name.utf8))
  }

  @Test("Different names have different ids, and a foreign id stays unchanged")
  func distinct() {
    var random = SeededGenerator(seed: 7)
    var ids: [String: [UInt8]] = [:]
    for _ in 0..<5000 {
      let length = Int.random(in: 0...4, using: &random)
      let name = String((0..<length).map { _ in "a0_-:Aé3".randomElement(using: &random) ?? "a" })
      let earlier = ids.updateValue(Array(name.utf8), forKey: KintoName.encode(name))
      #expect(earlier == nil || earlier == Array(name.utf8))
    }
    for id in ["a_b", "x_3a", "a_", "0__a", "a_FF"] { #expect(KintoName.decode(id) == id) }
  }
}
