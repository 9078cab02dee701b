import BothyInspector
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Events of the page", .timeLimit(.minutes(5)))
struct EventTests {
  /// Runs the watch, and passes the events to `body` as they arrive.
  private func watching(
    _ device: InspectedDevice,
    _ body: @escaping @Sendable (inout AsyncStream<InspectorEvent>.AsyncIterator) async throws -> Void
  ) async throws {
    var events = device.front.events().makeAsyncIterator()
    #expect(await events.next()?.name == .alive)
    let front = device.front
    let watch = Task { try await front.run() }
    // The watch sends a request to the server as soon as it runs.
    #expect(await Self.next(.server, &events)?.data == #"{"reachable":true}"#)
    try await body(&events)
    watch.cancel()
    _ = await watch.result
    while await events.next() != nil {}
  }

  private static func next(
    _ name: InspectorEvent.Name, _ events: inout AsyncStream<InspectorEvent>.AsyncIterator
  ) async -> InspectorEvent? {
    while let event = await events.next() { if event.name == name { return event } }
    return nil
  }

  @Test("A write of this process sends an event with its types", .timeLimit(.minutes(5)))
  func ownWrite() async throws {
    let device = try InspectedDevice()
    try await watching(device) { events in
      try await device.put("oslo", ["title": "Oslo"])
      #expect(await Self.next(.store, &events)?.data == #"{"types":["Trip"]}"#)
    }
  }

  @Test("A write, a decision and a pause of another process send events", .timeLimit(.minutes(5)))
  func foreignWrite() async throws {
    let device = try InspectedDevice()
    try await device.put("oslo", ["title": "Oslo"])
    let visitor = try await device.visitor()
    /// Reads again after each event, as the page does, until it finds the expected values.
    @Sendable func until(
      _ events: inout AsyncStream<InspectorEvent>.AsyncIterator, _ total: JSONValue, isPaused: JSONValue
    ) async throws {
      while await Self.next(.store, &events) != nil {
        let json = try await visitor.json("/api/outbox")
        if json["total"] == total && json["paused"] == isPaused { return }
      }
      Issue.record("The events ended.")
    }
    try await watching(device) { events in
      // Commits of other processes are heard of before the first value of an observation is read.
      var trips = device.store.values(of: AnyQuery("Trip")).makeAsyncIterator()
      #expect(try await trips.next()?.count == 1)
      let other = try SyncedStore(existing: device.path, remote: ScriptedRemote())
      try await other.save(
        AnyRecord("Trip", id: "rum", ["title": "Rum"]), options: RequestOptions(writePolicy: .local))
      try await until(&events, 2, isPaused: false)
      try other.resolve(RecordID(type: "Trip", id: "oslo"), .keepLocal)
      try await until(&events, 1, isPaused: false)
      try other.pause()
      try await until(&events, 1, isPaused: true)
      try other.store.close()
    }
  }

  @Test(
    "The timeline shows the events of syncing while the inspector runs", .timeLimit(.minutes(5)))
  func timeline() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    try await watching(device) { events in
      try await device.put("oslo", ["title": "Oslo", "country": "Norway"])
      _ = await Self.next(.timeline, &events)
      _ = await visitor.post("/api/sync")
      try await device.put("nowhere", ["title": "Nowhere"])
      _ = await visitor.post("/api/sync")
      _ = await visitor.post("/api/resolve", #"{"type":"Trip","id":"nowhere","resolution":"revert"}"#)
    }
    let json = try await visitor.json("/api/timeline")
    let kinds = Set(json.all("moments", "kind").compactMap(\.stringValue))
    #expect(
      kinds.isSuperset(of: [
        "began", "written", "acknowledged", "pulled", "rejected", "decided", "synced", "server",
      ]))
    #expect(json.all("moments", "text").contains("Synced: 1 sent, 0 received."))
    #expect(json.all("moments", "text").contains("Trip/nowhere: revert, now synced."))
    #expect(json["containers"]?.arrayValue?.first?["complete"] == true)
  }

  @Test(
    "The timeline shows earlier syncs, and a failed one of another process",
    .timeLimit(.minutes(5)))
  func pastSyncs() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    #expect(try await visitor.json("/api/timeline")["syncs"] == .array([]))
    try await device.put("oslo", ["title": "Oslo", "country": "Norway"])
    await device.store.sync()
    #expect(try await visitor.json("/api/overview")["failing"] == .null)
    try await watching(device) { events in
      let other = try SyncedStore(existing: device.path, remote: ScriptedRemote())
      #expect(await other.sync().stop?.name == "unreachable")
      // The other sync sent and received nothing, so only its row in the log reports it.
      while await Self.next(.timeline, &events) != nil {
        if try await visitor.json("/api/timeline")["syncs"]?.arrayValue?.count == 2 { break }
      }
      try other.store.close()
    }
    let json = try await visitor.json("/api/timeline")
    let newest = try #require(json["syncs"]?.arrayValue?.first)
    #expect(newest["problem"]?["reason"] == "unreachable" && newest["count"] == 1)
    #expect(newest["problem"]?["message"] == "The script has no further answer.")
    #expect(newest["problem"]?["remedy"]?.stringValue?.isEmpty == false)
    #expect(json["syncs"]?.arrayValue?.last?["pushed"] == 1 && json["moreSyncs"] == false)
    #expect(try await visitor.json("/api/timeline?limit=1")["moreSyncs"] == true)
    let overview = try await visitor.json("/api/overview")
    #expect(overview["failing"]?["reason"] == "unreachable" && overview["failing"]?["count"] == 1)
    #expect(overview["lastEndedWell"]?.intValue ?? 0 <= overview["failing"]?["since"]?.intValue ?? 0)
  }

  @Test("A refused server is in overview and timeline, with the remedies")
  func otherServer() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    try await device.put("oslo", ["title": "Oslo", "country": "Norway"])
    await device.store.sync()
    let another = InProcessRemote(SyncService(storage: try SQLiteServerStorage(), now: { 0 }))
    let other = try SyncedStore(existing: device.path, remote: another)
    #expect(await other.sync().stop?.name == "otherServer")
    try other.store.close()
    let failing = try #require(try await visitor.json("/api/overview")["failing"])
    #expect(failing["reason"] == "otherServer")
    #expect(failing["remedy"]?.stringValue?.contains("--adopt") == true)
    let newest = try #require(try await visitor.json("/api/timeline")["syncs"]?.arrayValue?.first)
    #expect(newest["problem"]?["message"]?.stringValue?.contains("Nothing was sent or removed.") == true)
  }
}
