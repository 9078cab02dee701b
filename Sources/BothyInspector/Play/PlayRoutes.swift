import BothyStore
import BothySync
import HTTPTypes

/// The requests of the playground's page: trips on each device, its network, and the records of the server.
struct PlayRoutes: Sendable {
  let devices: [PlayDevice]
  let server: @Sendable () async throws -> [ServerRecord]

  func answer(_ call: InspectorCall) async throws -> Answer {
    if call.path == "/" { return Assets.playground }
    if let asset = Assets.named(call.path) { return asset }
    switch (call.method, call.path) {
    case (.get, "/events"): return .events
    case (.get, "/api/play"): return try await state()
    case (.post, "/api/play/put"): return try await put(call.members())
    case (.post, "/api/play/delete"): return try await delete(call.members())
    case (.post, "/api/play/network"): return try await network(call.members())
    default: throw HTTPFailure.notFound
    }
  }

  private func state() async throws -> Answer {
    let records = try await server().filter { !$0.isDeleted }.sorted { $0.id.id < $1.id.id }
    return try .object { writer in
      try writer.list("devices", devices) { try Self.write($1, to: &$0) }
      try writer.object("server") { writer in
        try writer.list("trips", records) { writer, record in
          writer.member("id", record.id.id)
          writer.member("fields", .object(try record.fields.members()))
        }
      }
    }
  }

  private static func write(_ device: PlayDevice, to writer: inout JSONWriter) throws {
    let counts = try device.store.pendingCounts()
    let trips = try device.store.store.fetch(AnyQuery("Trip"))
    let shown = try RecordView.all(trips, in: device.store)
    writer.member("name", device.name)
    writer.member("online", device.isOnline())
    writer.member("syncing", device.store.status.isSyncing)
    writer.member("pending", counts.total)
    writer.member("inbox", counts.inbox)
    writer.member("inspector", device.inspector())
    writer.list("trips", shown) { $1.write(to: &$0) }
  }

  private func device(_ members: [String: JSONValue]) throws -> PlayDevice {
    guard let name = members["device"]?.stringValue, let device = devices.first(where: { $0.name == name })
    else { throw HTTPFailure(.badRequest, "noDevice", "The device does not exist. Reload the page.") }
    return device
  }

  /// Saves the trip of `{"device","id"?,"fields":{…}}`. Without an id it is a new one.
  private func put(_ members: [String: JSONValue]) async throws -> Answer {
    let device = try device(members)
    let type = try RecordPage.type("Trip", device.store)
    var values: [String: FieldValue] = [:]
    for (name, value) in members["fields"]?.objectValue ?? [:] {
      guard let field = type[name] else {
        throw HTTPFailure(.badRequest, "unknownField", "A trip has no field '\(name)'. Reload the page.")
      }
      values[name] = try FieldValue(json: value, kind: field.kind)
    }
    let id = members["id"]?.stringValue ?? UUIDv7.make()
    try await device.store.save(AnyRecord("Trip", id: id, values))
    return .object { $0.member("id", id) }
  }

  private func delete(_ members: [String: JSONValue]) async throws -> Answer {
    let device = try device(members)
    guard let id = members["id"]?.stringValue else {
      throw HTTPFailure(.badRequest, "missing", "The request names no trip. Reload the page.")
    }
    try await device.store.delete(RecordID(type: "Trip", id: id))
    return .object { $0.member("id", id) }
  }

  private func network(_ members: [String: JSONValue]) throws -> Answer {
    let device = try device(members)
    let isOnline = members["online"]?.boolValue ?? true
    device.setOnline(isOnline)
    return .object { $0.member("online", isOnline) }
  }
}
