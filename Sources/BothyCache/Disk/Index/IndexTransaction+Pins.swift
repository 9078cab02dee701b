internal import BothyStore
internal import GRDB

/// The pins of each holder. An entry is pinned as long as any holder has pinned it.
///
/// A row has the pins of a holder for one block, which is a path or 8 × 8 tiles.
extension IndexTransaction {
  func holder(_ name: String) throws -> Int64 {
    if let known = try knownHolder(name) { return known }
    let insert = try PreparedStatement("INSERT INTO holder VALUES (NULL, ?1)", in: database)
    insert.bind(name, at: 1)
    try insert.run()
    return database.lastInsertedRowID
  }

  private func knownHolder(_ name: String) throws -> Int64? {
    let find = try PreparedStatement("SELECT id FROM holder WHERE name = ?1", in: database)
    find.bind(name, at: 1)
    defer { find.reset() }
    return try find.step() ? find.int(at: 0) : nil
  }

  /// True if any holder has pinned the key. All its variants are pinned together.
  func isWanted(_ number: Int64) throws -> Bool {
    guard hasPins else { return false }
    let find = try PreparedStatement(
      "SELECT 1 FROM pin WHERE block = ?1 AND mask & ?2 <> 0 LIMIT 1", in: database)
    find.bind(KnownSource.block(number), at: 1)
    find.bind(KnownSource.bit(number), at: 2)
    defer { find.reset() }
    return try find.step()
  }

  func pin(_ key: ResourceKey, _ holder: Int64) throws {
    let source = sources.source(key.source)
    let number = source.number(of: key.base)
    let insert = try PreparedStatement(
      """
      INSERT INTO pin VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT (block, holder) DO UPDATE SET mask = mask | excluded.mask
      """, in: database)
    insert.bind(KnownSource.block(number), at: 1)
    insert.bind(holder, at: 2)
    insert.bind(try self.number(of: source), at: 3)
    insert.bind(KnownSource.block(key.name), at: 4)
    insert.bind(KnownSource.bit(number), at: 5)
    try insert.run()
    try mark(number, isPinned: true)
  }

  func unpin(_ numbers: [Int64], _ name: String) throws {
    guard let holder = try knownHolder(name) else { return }
    for number in numbers {
      let update = try PreparedStatement(
        "UPDATE pin SET mask = mask & ~?3 WHERE block = ?1 AND holder = ?2 AND mask & ?3 <> 0", in: database)
      update.bind(KnownSource.block(number), at: 1)
      update.bind(holder, at: 2)
      update.bind(KnownSource.bit(number), at: 3)
      try update.run()
      if database.changedRows > 0, try !isWanted(number) { try mark(number, isPinned: false) }
    }
    for block in Set(numbers.map { KnownSource.block($0) }) {
      let delete = try PreparedStatement(
        "DELETE FROM pin WHERE block = ?1 AND holder = ?2 AND mask = 0", in: database)
      delete.bind(block, at: 1)
      delete.bind(holder, at: 2)
      try delete.run()
    }
    let end = try PreparedStatement(
      "DELETE FROM holder WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM pin WHERE holder = ?1)", in: database)
    end.bind(holder, at: 1)
    try end.run()
  }

  /// Removes up to `most` of a holder's pins, in up to eight blocks. Returns false if it had none.
  func unpinSome(_ most: Int, of name: String) throws -> Bool {
    guard let holder = try knownHolder(name) else { return false }
    let select = try PreparedStatement(
      "SELECT block, mask FROM pin WHERE holder = ?1 LIMIT 8", in: database)
    select.bind(holder, at: 1)
    var numbers: [Int64] = []
    while try select.step() {
      let block = select.int(at: 0)
      for place in KnownSource.places(of: select.int(at: 1)) { numbers.append(block | Int64(place) << 2) }
    }
    select.reset()
    try unpin(Array(numbers.prefix(most)), name)
    return !numbers.isEmpty
  }

  private func mark(_ number: Int64, isPinned: Bool) throws {
    for row in try rows(ofAllVariants: number) where row.isPinned != isPinned {
      let update = try PreparedStatement("UPDATE entry SET pinned = ?2 WHERE id = ?1", in: database)
      update.bind(row.number, at: 1)
      update.bind(isPinned ? 1 : 0, at: 2)
      try update.run()
      tally(row, -1)
      var marked = row
      marked.isPinned = isPinned
      tally(marked, 1)
    }
  }
}
