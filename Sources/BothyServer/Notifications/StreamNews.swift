import BothySyncService

/// The events of one stream. If the schema hides records from its caller, changes that the caller can't see are left
/// out, and the events' ids reveal none of them.
///
/// Such a stream costs a short read of the storage for each change of its space, less those that arrive together. The
/// read waits for a slot of the user's pulls.
struct StreamNews {
  let services: ServerServices
  let space: String
  let user: Caller
  /// The id of the last event that the caller knows: the one that it names, or the one at the beginning.
  private let lastSeen: String
  /// The state that the caller knows; `nil` for a caller that sees everything.
  private var reported: String?

  /// Reads the present state. Call it before the caller learns that the stream is open, because it pulls then.
  init(_ services: ServerServices, space: String, user: Caller, lastSeen: String?) async throws {
    self.services = services
    self.space = space
    self.user = user
    // News that comes before the subscription has another id.
    self.lastSeen = lastSeen ?? services.notifications.lastID(space: space)
    let state = try await services.service.visibleState(space: space, user: user)
    reported = state.map { lastSeen ?? $0 }
  }

  /// True if the stream begins with a look for news, after its subscription has begun.
  var mayHaveNews: Bool {
    reported != nil || lastSeen != services.notifications.lastID(space: space)
  }

  /// Returns the next event, or `nil` if the caller sees nothing of the news.
  mutating func event() async -> String? {
    let state: String?
    do { state = try await look() } catch {
      // Without the storage it is unknown, and a pull finds out later. An id here counts hidden changes.
      return Self.text(id: nil)
    }
    guard let state else { return Self.text(id: services.notifications.lastID(space: space)) }
    defer { reported = state }
    return state == reported ? nil : Self.text(id: state)
  }

  /// Returns the present state. A user has many streams, so their looks have the slots of its pulls. A caller that sees
  /// everything needs none, as nothing is read for it.
  private func look() async throws -> String? {
    let (service, space, user) = (services.service, space, user)
    guard reported != nil else { return try await service.visibleState(space: space, user: user) }
    return try await services.metrics.turns.taking(.pull, user.name ?? "") { _ in
      try await service.visibleState(space: space, user: user)
    }
  }

  private static func text(id: String?) -> String {
    (id.map { "id: \($0)\n" } ?? "") + "event: news\ndata: {}\n\n"
  }
}
