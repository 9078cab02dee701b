import BothyStore
import BothySync
import HTTPTypes
import Hummingbird

/// The requests of the playground's page: trips on each device, its network, and the records of the server.
struct PlayRoutes: PageRoutes {
  let devices: [PlayDevice]
  let board: Broadcast<InspectorEvent>
  let server: @Sendable () async throws -> [ServerRecord]
  /// The number of exchanges, and of decisions, that are told of each device.
  private static let storyLimit = 12

  func add(to router: some RouterMethods<some RequestContext>) {
    router.get("/api/play") { _, _ in try await state() }
    router.post("/api/play/put") { call, _ in try await reported(put(call.members())) }
    router.post("/api/play/delete") { call, _ in try await reported(delete(call.members())) }
    router.post("/api/play/network") { call, _ in try await reported(network(call.members())) }
  }

  /// Notifies the page of a change. A network switch changes no file, so no commit does.
  private func reported(_ response: Response) -> Response {
    board.send(InspectorEvent(.store))
    return response
  }

  private func state() async throws -> Response {
    let records = try await server().filter { !$0.isDeleted }.sorted { $0.id.id < $1.id.id }
    var syncs: [String: [StoreMaintenance.SyncRun]] = [:]
    for device in devices {
      syncs[device.name] = try await device.store.maintenance.syncRuns(limit: Self.storyLimit)
    }
    let runs = syncs
    return try .object { writer in
      try writer.list("devices", devices) { writer, device in
        try Self.write(device, syncs: runs[device.name] ?? [], to: &writer)
      }
      try writer.object("server") { writer in
        try writer.list("trips", records) { writer, record in
          writer.member("id", record.id.id)
          writer.member("fields", .object(try record.fields.members()))
        }
      }
    }
  }

  private static func write(
    _ device: PlayDevice, syncs: [StoreMaintenance.SyncRun], to writer: inout JSONWriter
  ) throws {
    let counts = try device.store.pendingCounts()
    let trips = try device.store.store.fetch(AnyQuery("Trip"))
    let shown = try RecordView.all(trips, in: device.store)
    writer.member("name", device.name)
    writer.member("online", device.isOnline())
    writer.member("syncing", device.store.status.isSyncing)
    writer.member("pending", counts.total)
    writer.member("rejected", counts.rejected)
    writer.member("inspector", device.inspector())
    writer.list("trips", shown) { $1.write(to: &$0) }
    writer.list("syncs", syncs) { writer, run in
      writer.member("id", run.id)
      run.writeMembers(to: &writer)
    }
    let decisions = try device.store.journal.entries(limit: storyLimit)
    writer.list("decisions", decisions) { $1.writeMembers(to: &$0) }
  }

  private func device(_ members: [String: JSONValue]) throws -> PlayDevice {
    guard let name = members["device"]?.stringValue, let device = devices.first(where: { $0.name == name })
    else { throw HTTPFailure(.badRequest, "noDevice", "The device does not exist. Reload the page.") }
    return device
  }

  /// Saves the trip of `{"device","id"?,"fields":{…}}`. Without an id it is a new one.
  private func put(_ members: [String: JSONValue]) async throws -> Response {
    let device = try device(members)
    let type = try RecordPage.type("Trip", device.store)
    let values = try type.values(members["fields"]?.objectValue ?? [:])
    let id = members["id"]?.stringValue ?? UUIDv7.make()
    try await device.store.save(AnyRecord("Trip", id: id, values))
    return .object { $0.member("id", id) }
  }

  private func delete(_ members: [String: JSONValue]) async throws -> Response {
    let device = try device(members)
    guard let id = members["id"]?.stringValue else {
      throw HTTPFailure(.badRequest, "missing", "The request names no trip. Reload the page.")
    }
    try await device.store.delete(RecordID(type: "Trip", id: id))
    return .object { $0.member("id", id) }
  }

  private func network(_ members: [String: JSONValue]) throws -> Response {
    let device = try device(members)
    let isOnline = members["online"]?.boolValue ?? true
    device.setOnline(isOnline)
    return .object { $0.member("online", isOnline) }
  }
}
