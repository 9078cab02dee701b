/// The effects of the deletion of one record under the delete rules of the fields that refer to it. Computed before
/// anything changes, so that a refusal changes nothing.
struct DeletionPlan {
  struct Clearing {
    let owner: RecordID
    let field: String
    let target: String
    let isList: Bool
  }

  /// The records to delete, those with references before their targets.
  private(set) var deletions: [RecordID] = []
  private(set) var clearings: [Clearing] = []

  /// Computes the plan. Throws `BothyError` `.denied` if a record that remains refers to a deleted one by a field with
  /// the rule `.deny`.
  init(of root: RecordID, in transaction: WriteTransaction) throws {
    var doomed: Set<RecordID> = [root]
    var queue = [root]
    var denials: [(referrer: RecordID, field: String, target: RecordID)] = []
    while let id = queue.popLast() {
      deletions.append(id)
      let table = try transaction.catalog.table(id.type)
      for incoming in transaction.catalog.incoming[table.index] {
        let owner = transaction.catalog.tables[incoming.table]
        let field = owner.schema.fields[incoming.field]
        for ownerID in try transaction.referrers(of: id, from: owner, field, isList: incoming.isList) {
          let referrer = RecordID(type: owner.schema.name, id: ownerID)
          switch incoming.rule {
          case .cascade: if doomed.insert(referrer).inserted { queue.append(referrer) }
          case .deny: denials.append((referrer, field.name, id))
          case .nullify:
            clearings.append(
              Clearing(owner: referrer, field: field.name, target: id.id, isList: incoming.isList))
          }
        }
      }
    }
    if let denial = denials.first(where: { !doomed.contains($0.referrer) }) {
      throw BothyError(
        .denied,
        "\(denial.target) can't be deleted: \(denial.referrer) refers to it by '\(denial.field)'. "
          + "Delete or change that first.")
    }
    clearings.removeAll { doomed.contains($0.owner) }
    deletions.reverse()
  }
}

extension WriteTransaction {
  /// Returns the ids of the records of `owner` whose `field` refers to `id`. Costs one index range.
  package func referrers(
    of id: RecordID, from owner: TypeTable, _ field: FieldSchema, isList: Bool
  ) throws -> [String] {
    let sql =
      isList
      ? "SELECT owner FROM bothy_link WHERE target_type = ?2 AND target = ?1 AND owner_type = ?3 AND field = ?4"
      : "SELECT _id FROM \(owner.name) WHERE \(field.name.quotedIdentifier) = ?1"
    let select = try PreparedStatement(sql, in: database)
    select.bind(id.id, at: 1)
    if isList {
      select.bind(id.type, at: 2)
      select.bind(owner.schema.name, at: 3)
      select.bind(field.name, at: 4)
    }
    defer { select.reset() }
    var owners: [String] = []
    while try select.step() { if let owner = select.text(at: 0) { owners.append(owner) } }
    return owners
  }
}
