import BothyServer
import BothyStore
import BothySync

/// The steps of the demo: import, agreement, conflicting offline edits, agreement again.
struct DemoStory {
  let input: DemoInput
  let folder: String
  let narrator: ProgressPrinter

  private struct Cast {
    var port: Int
    var a: DemoDevice
    var b: DemoDevice
  }

  func tell() async throws -> DemoEnding {
    let server = DemoServer(path: "\(folder)/server.sqlite")
    let cast = try await server.whileServing { address in
      try narrator.say("A server listens on \(address.url). Devices A and B have a database file each.")
      let cast = try Cast(
        port: address.port, a: DemoDevice("A", folder: folder, server: address.url),
        b: DemoDevice("B", folder: folder, server: address.url))
      try await agreeFirst(cast)
      return cast
    }
    try narrator.chapter("2. The server is gone; both devices go on working")
    try await expectUnreachable(cast)
    let edits = try await OfflineEdits(places: chosenPlaces(cast.a)).make(cast.a, cast.b, narrator)
    let ending = try await server.whileServing(on: cast.port) { address in
      try narrator.chapter("3. The server is back on \(address.url); both sync twice")
      for round in 1...2 {
        for device in [cast.a, cast.b] { try await sync(device, "\(device.name) syncs, round \(round)") }
      }
      try edits.tellMerges(cast.a, cast.b, narrator)
      return try await DemoEnding.compare(cast.a, cast.b, narrator)
    }
    for device in [cast.a, cast.b] { try device.store.store.close() }
    return ending
  }

  private func agreeFirst(_ cast: Cast) async throws {
    try narrator.chapter("1. \(input.features.count) places (\(input.source))")
    guard let type = DemoInput.schema["Place"] else { return }
    let source = RecordSource(FeatureReader(records: RecordReader(type: type)).records(input.features))
    _ = try await narrator.step("A imports them") {
      try await cast.a.store.store.importRecords(from: source)
    } tell: {
      "\($0.inserted) records, all pending"
    }
    try await sync(cast.a, "A syncs")
    try await sync(cast.b, "B syncs")
  }

  private func expectUnreachable(_ cast: Cast) async throws {
    let report = await cast.a.store.sync()
    guard case .unreachable = report.stop else {
      throw ToolError("The server was stopped, and a sync still reached something. Run the demo again.")
    }
    try narrator.say("  A tries to sync: the server can't be reached, nothing is lost")
  }

  /// Returns places with names if enough exist.
  private func chosenPlaces(_ device: DemoDevice) throws -> [AnyRecord] {
    let named = AnyQuery("Place", where: .compare(field: "name", .notEqual, .null), limit: 6)
    let found = try device.store.store.fetch(named)
    return found.count == 6 ? found : try device.store.store.fetch(AnyQuery("Place", limit: 6))
  }

  private func sync(_ device: DemoDevice, _ title: String) async throws {
    let report = try await narrator.step(title) {
      await device.store.sync()
    } tell: {
      "\($0.pushed) sent, \($0.pulled) received in \($0.requests) request\($0.requests == 1 ? "" : "s")"
    }
    if let reason = report.stop {
      throw ToolError("Device \(device.name) could not sync: \(reason.message)")
    }
    if let failure = report.rejected.first {
      throw ToolError("The server rejected a change of device \(device.name): \(failure.message)")
    }
  }
}
