import BothyStore
import BothySyncService

/// The documents about spaces: the list, one space, and upkeep.
extension OperatorReports {
  /// The most spaces, or devices, of one page.
  private static let pageLimit = 200
  /// The most remembered outcomes that are read for a space's rejections.
  static let outcomeLimit = 20_000
  /// The most spaces that are counted as due.
  static let dueLimit = 100_000

  private static func limit(_ parameters: [String: String]) -> Int {
    min(max(parameters["limit"].flatMap(Int.init) ?? 50, 1), pageLimit)
  }

  /// The list of spaces: `order` (name, head or due), `part` of the names, `after` with `number` for the next page.
  func spaces(_ parameters: [String: String]) async throws -> [UInt8] {
    guard let database else { return object { $0.list("spaces", [Int]()) { _, _ in } } }
    let limit = Self.limit(parameters)
    var query = SpaceQuery(
      order: SpaceQuery.Order(rawValue: parameters["order"] ?? "") ?? .name, part: parameters["part"] ?? "",
      limit: limit + 1)
    if let name = parameters["after"] {
      query.mark = SpaceQuery.Mark(number: parameters["number"].flatMap { Int64($0) } ?? 0, name: name)
    }
    let found = try await database.storage.spaces(query)
    let lines = Array(found.prefix(limit))
    let counts = try await database.counts.counts(of: lines)
    let total = try await recent.spaceCount(database.storage)
    return object { writer in
      writer.member("total", total)
      writer.member("order", query.order.rawValue)
      writer.list("spaces", lines) { writer, line in
        Self.write(line, counts[line.name], to: &writer)
      }
      writer.object("next", found.count > limit ? lines.last.map(query.mark) : nil) { writer, mark in
        writer.member("after", mark.name)
        writer.member("number", mark.number)
      }
    }
  }

  private static func write(
    _ line: SpaceLine, _ counted: SpaceCounts.Counted?, to writer: inout JSONWriter
  ) {
    writer.member("space", line.name)
    writer.member("head", line.head)
    writer.member("floor", line.floor)
    writer.member("due", line.due)
    writer.member("lastWrite", line.lastWrite)
    writer.member("countedAt", counted?.at)
    let statistics = counted?.statistics
    writer.member("records", statistics?.records)
    writer.member("bytes", statistics?.bytes)
    writer.member("tombstones", statistics?.tombstones)
    writer.member("containers", statistics?.containers)
    writer.member("devices", statistics?.devices)
    writer.member("outcomes", statistics?.outcomes)
    writer.member("partial", statistics?.isPartial)
  }

  /// One space, by its `name`: its counts, devices, users, containers, rejections and webhooks.
  func space(_ parameters: [String: String]) async throws -> [UInt8] {
    let name = parameters["name"] ?? ""
    guard let database, let line = try await database.storage.space(named: name) else {
      throw BothyError(.notFound, "The database has no space '\(name)'. Go back to the list.")
    }
    let limit = Self.limit(parameters)
    var mark: DeviceMark?
    if let device = parameters["after"], let position = parameters["number"].flatMap({ Int64($0) }) {
      mark = DeviceMark(position: position, device: device)
    }
    let devices = try await database.storage.devices(of: name, after: mark, limit: limit + 1)
    let counted = try await database.counts.counts(of: [line])[name]
    let details = try await database.counts.details(of: line)
    let rejections = try await database.storage.rejections(of: name, limit: Self.outcomeLimit)
    let webhooks = try await webhooks(of: name, in: database)
    return object { writer in
      Self.write(line, counted, to: &writer)
      writer.member("epoch", line.epoch)
      writer.list("deviceLines", devices.prefix(limit)) { Self.write($1, head: line.head, to: &$0) }
      writer.object("next", devices.count > limit ? devices[limit - 1].mark : nil) { writer, mark in
        writer.member("after", mark.device)
        writer.member("number", mark.position)
      }
      Self.write(details, to: &writer)
      Self.write(rejections, to: &writer)
      writer.list("webhooks", webhooks) { writer, found in
        writer.member("webhook", found.name)
        write(found.state, of: found.name, to: &writer)
      }
    }
  }

  private func webhooks(
    of space: String, in database: Database
  ) async throws -> [(name: String, state: WebhookState)] {
    guard let feeds = database.storage as? any FeedStorage else { return [] }
    var found: [(name: String, state: WebhookState)] = []
    for line in try await recent.webhooks(database.storage) {
      if let state = try await feeds.state(of: line.name, in: space) { found.append((line.name, state)) }
    }
    return found
  }

  private static func write(_ device: DeviceLine, head: Int64, to writer: inout JSONWriter) {
    writer.member("device", DeviceName(device.device)?.device ?? device.device)
    writer.member("scopes", device.scopes)
    writer.member("position", device.position)
    writer.member("behind", max(0, head - device.position))
    writer.member("behindSince", device.position < head ? device.behindSince : nil)
    writer.member("notedAt", device.notedAt)
  }

  private static func write(_ details: SpaceCounts.Details, to writer: inout JSONWriter) {
    writer.member("detailsAt", details.at)
    writer.member("principalCount", details.userCount)
    writer.list("principals", details.users) { writer, entry in
      writer.member("principal", entry.user)
      writer.member("records", entry.records)
      writer.member("lists", entry.lists)
    }
    writer.list("containerLines", details.containers) { writer, entry in
      writer.member("container", entry.container)
      writer.member("records", entry.records)
      writer.member("position", entry.position)
    }
    writer.member("blobs", details.blobs?.count)
    writer.member("blobBytes", details.blobs?.bytes)
  }

  private static func write(_ rejections: RejectionCounts, to writer: inout JSONWriter) {
    writer.list("rejections", rejections.counts.sorted { $0.key < $1.key }) { writer, entry in
      writer.member("reason", entry.key)
      writer.member("count", entry.value.number)
      writer.member("last", entry.value.last)
    }
    writer.member("outcomesRead", rejections.read)
    writer.member("outcomesLimit", outcomeLimit)
  }

  /// The spaces by the time of their upkeep, and what the servers say of theirs.
  func upkeep(_ parameters: [String: String]) async throws -> [UInt8] {
    let servers = await watch.servers
    let limit = Self.limit(parameters)
    let time = now()
    let found = try await database?.storage.spaces(SpaceQuery(order: .due, limit: limit)) ?? []
    let due = try await database?.storage.dueCount(at: time, limit: Self.dueLimit)
    return object { writer in
      writer.member("due", due)
      writer.member("dueLimit", Self.dueLimit)
      writer.list("spaces", found) { writer, line in
        writer.member("space", line.name)
        writer.member("due", line.due)
        writer.member("isDue", line.due.map { $0 <= time } ?? false)
        writer.member("command", command("compact", line.name))
      }
      writer.list("servers", servers) { writer, server in
        writer.member("url", server.url)
        writer.member("awaySince", server.awaySince)
        for (name, metric) in [
          ("age", "bothy_upkeep_age_seconds"), ("due", "bothy_upkeep_due_spaces"),
          ("lag", "bothy_upkeep_lag_seconds"),
        ] { writer.member(name, server.metrics?.sum(metric)) }
        for result in ["done", "failed"] {
          writer.member(result, server.metrics?.sum("bothy_upkeep_spaces_total", ["result": result]))
        }
      }
    }
  }
}
