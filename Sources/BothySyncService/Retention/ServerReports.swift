import BothyStore

/// A storage that answers the questions of an operator's page: lists of spaces, of devices and of what failed.
///
/// Each answer is bounded and reads no content of records. Storages without it are administered by commands alone.
package protocol ServerReports: ServerMaintenance {
  /// Returns a page of spaces. By name it reads as many rows as it returns; other orders and searches read the list of
  /// spaces. Never reads what the spaces contain.
  func spaces(_ query: SpaceQuery) async throws -> [SpaceLine]
  /// Returns one space, or `nil` if it is missing.
  func space(named name: String) async throws -> SpaceLine?
  /// Returns the number of spaces. Reads the list of spaces.
  func spaceCount() async throws -> Int
  /// Returns at most `limit` devices after `mark`, those that are furthest behind first. Reads the devices of the space.
  func devices(of space: String, after mark: DeviceMark?, limit: Int) async throws -> [DeviceLine]
  /// Returns at most `limit` containers with live records, those with the most first. Reads a million records of the
  /// space at most.
  func containers(of space: String, limit: Int) async throws -> [ContainerLine]
  /// Counts the rejections among the remembered outcomes of the space. Reads at most `limit` outcomes.
  func rejections(of space: String, limit: Int) async throws -> RejectionCounts
  /// Sums up the progress of a webhook in all spaces, with at most `limit` spaces that are behind. Those with the most
  /// failures come first. Reads the list of spaces and the webhook's progress.
  func webhook(_ name: String, limit: Int) async throws -> WebhookLine
}

/// A page of the list of spaces.
package struct SpaceQuery: Sendable, Hashable {
  package enum Order: String, Sendable, CaseIterable {
    case name
    /// The spaces with the highest head first, which are those with the most changes.
    case head
    /// The spaces with a time for their upkeep, the longest due first.
    case due
  }

  package var order = Order.name
  /// A part of the names, or empty for all spaces. Case matters.
  package var part = ""
  /// The last space of the page before, or `nil` for the first page.
  package var mark: Mark?
  package var limit: Int

  /// A place in an order: the ordered number of the last space, and its name. The number is 0 in the order of names.
  package struct Mark: Sendable, Hashable {
    package var number: Int64
    package var name: String

    package init(number: Int64, name: String) {
      self.number = number
      self.name = name
    }
  }

  package init(order: Order = .name, part: String = "", after mark: Mark? = nil, limit: Int) {
    self.order = order
    self.part = part
    self.mark = mark
    self.limit = limit
  }

  /// Returns the mark of a space, after which the next page begins.
  package func mark(of space: SpaceLine) -> Mark {
    switch order {
    case .name: Mark(number: 0, name: space.name)
    case .head: Mark(number: space.head, name: space.name)
    case .due: Mark(number: space.due ?? 0, name: space.name)
    }
  }
}

/// A space in a list, without counts of its content.
package struct SpaceLine: Sendable, Hashable {
  package var name: String
  package var epoch: String
  package var head: Int64
  package var floor: Int64
  /// The time of the next upkeep, or `nil` if only a change makes the space due. It is 0 for a new space, which is due
  /// since its first write.
  package var due: Int64?
  /// The server's time of the last change; `nil` if nothing remembers it.
  package var lastWrite: Int64?

  package init(name: String, epoch: String, head: Int64, floor: Int64, due: Int64?, lastWrite: Int64? = nil) {
    self.name = name
    self.epoch = epoch
    self.head = head
    self.floor = floor
    self.due = due
    self.lastWrite = lastWrite
  }
}

/// A place in a list of devices.
package struct DeviceMark: Sendable, Hashable {
  package var position: Int64
  package var device: String

  package init(position: Int64, device: String) {
    self.position = position
    self.device = device
  }
}

/// The progress of a device, as servers noted it last.
package struct DeviceLine: Sendable, Hashable {
  package var device: String
  /// The number of places that the device pulls from.
  package var scopes: Int
  /// The lowest position of its cursors.
  package var position: Int64
  /// The time of the last note.
  package var notedAt: Int64
  /// The time of the oldest remembered change after the position, or `nil` without one. Forgotten changes may be older.
  package var behindSince: Int64?

  package init(device: String, scopes: Int, position: Int64, notedAt: Int64, behindSince: Int64? = nil) {
    self.device = device
    self.scopes = scopes
    self.position = position
    self.notedAt = notedAt
    self.behindSince = behindSince
  }

  package var mark: DeviceMark { DeviceMark(position: position, device: device) }
}

/// A container with its number of live records.
package struct ContainerLine: Sendable, Hashable {
  package var container: String
  package var records: Int
  /// The position of the last change among them.
  package var position: Int64

  package init(container: String, records: Int, position: Int64) {
    self.container = container
    self.records = records
    self.position = position
  }
}

/// The rejections among remembered outcomes, by code.
package struct RejectionCounts: Sendable, Hashable {
  package struct Count: Sendable, Hashable {
    package var number: Int
    /// The time of the last one.
    package var last: Int64
  }

  package private(set) var counts: [String: Count] = [:]
  /// The number of outcomes that were read.
  package var read = 0

  package init() {}

  /// Counts a stored outcome if it is a rejection. Others, and texts that can't be read, aren't counted.
  package mutating func add(outcome text: String, at time: Int64) {
    // A text of a later format isn't counted.
    guard let outcome = try? JSONReader.read(text, { try Outcome(from: &$0) }),
      case .rejected(let rejection) = outcome.verdict
    else { return }
    let known = counts[rejection.code]
    counts[rejection.code] = Count(number: (known?.number ?? 0) + 1, last: max(known?.last ?? time, time))
  }
}

/// The progress of a webhook in all spaces.
package struct WebhookLine: Sendable, Hashable {
  package var name: String
  /// The spaces to which it has delivered, or tried to.
  package var spaces = 0
  /// Those with something to deliver.
  package var behind = 0
  /// Those whose last attempt failed.
  package var failing = 0
  /// The spaces without any attempt. They may be outside of the webhook's patterns.
  package var untouched = 0
  /// The time of the last delivery in any space; 0 without one.
  package var deliveredAt: Int64 = 0
  /// Some of the spaces that are behind.
  package var worst: [WebhookState] = []

  package init(name: String) { self.name = name }
}
