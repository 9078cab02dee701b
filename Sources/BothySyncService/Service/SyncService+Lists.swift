import BothyStore

/// The lists of users from the side of their members.
extension SyncService {
  /// The most lists of one answer.
  package static let joinedListLimit = 1000

  /// Returns the first lists that name the user itself, by id, at most `joinedListLimit`. Lists that name a group of the
  /// user aren't among them. Reads as many rows.
  ///
  /// A user who leaves some of those returned sees the others.
  package func joinedLists(space: String, user: Caller) async throws -> [JoinedList] {
    guard let name = user.name else { return [] }
    return try await storage.read(space: space) { storage in
      try storage.listOwners(of: name, limit: Self.joinedListLimit).map {
        JoinedList(id: $0.list, owner: $0.owner)
      }
    }
  }
}
