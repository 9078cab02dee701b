internal import BothyStore
internal import Synchronization

/// The way to read the rows of one type: into records, or into an entity that may have fewer fields in another order.
///
/// It is a class, so that passing it on a hot path costs one reference.
final class TypeShape: Sendable {
  /// The numbers of its cached statements, for rows by id or by position, and for the positions of ids.
  let slot: Int
  let mapSlot: Int
  let catalog: Catalog
  let table: TypeTable
  let shards: ShardMap?
  let bySQL: String
  let mapSQL: String

  init(_ type: TypeSchema, in schema: StoreSchema, _ shards: ShardMap?, slot: Int, mapSlot: Int)
    throws(BothyError)
  {
    let types = schema.types.map { $0.name == type.name ? type : $0 }
    catalog = Catalog(StoreSchema(version: schema.version, types: types))
    table = try catalog.table(type.name)
    self.shards = shards
    self.slot = slot
    self.mapSlot = mapSlot
    bySQL = shards == nil ? table.selectByIDSQL : table.selectSQL + " WHERE rowid = ?"
    mapSQL = "SELECT shard, row FROM \(ShardMap.table(of: type.name)) WHERE id = ?"
  }
}

/// The shapes in use: one for each type of the pack, and one for each requested entity.
final class TypeShapes: Sendable {
  private let manifest: Pack.Manifest
  private let folder: String
  private let byName: [String: TypeShape]
  private let entities = Mutex<[ObjectIdentifier: TypeShape]>([:])

  init(_ manifest: Pack.Manifest, in folder: String) throws(BothyError) {
    self.manifest = manifest
    self.folder = folder
    var byName: [String: TypeShape] = [:]
    for (number, type) in manifest.schema.types.enumerated() {
      byName[type.name] = try TypeShape(
        type, in: manifest.schema, ShardMap(of: type, manifest), slot: 2 * number, mapSlot: 2 * number + 1)
    }
    self.byName = byName
  }

  /// Returns the shape of a type. Throws `BothyError` `unknownType`, which names the existing types.
  func shape(named name: String) throws(BothyError) -> TypeShape {
    guard let shape = byName[name] else {
      let known = byName.keys.sorted().joined(separator: ", ")
      throw BothyError(
        .unknownType, "The pack \(manifest.name) has no type '\(name)'. Known: \(known).")
    }
    return shape
  }

  /// Returns the shape of an entity. Throws `BothyError` `.schemaMismatch`, which names every difference.
  func shape(of entity: any Entity.Type) throws -> TypeShape {
    let id = ObjectIdentifier(entity)
    if let known = entities.withLock({ $0[id] }) { return known }
    guard let own = byName[entity.typeName] else {
      let known = byName.keys.sorted().joined(separator: ", ")
      throw BothyError(
        .schemaMismatch,
        "The pack \(manifest.name) \(manifest.version) in \(folder) has no \(entity.typeName). It has: \(known)."
      )
    }
    let merged = try SchemaAgreement(manifest, folder).merged(entity.schema, own.table.schema)
    let shape = try entities.withLock { entities in
      if let known = entities[id] { return known }
      let shape = try TypeShape(
        merged, in: manifest.schema, own.shards, slot: 2 * (byName.count + entities.count),
        mapSlot: own.mapSlot)
      entities[id] = shape
      return shape
    }
    return shape
  }
}
