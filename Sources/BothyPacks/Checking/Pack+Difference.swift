internal import BothyStore
internal import Foundation

extension Pack {
  /// The differences between two packs.
  package struct Difference: Sendable, Hashable {
    /// The differences in the records of one type.
    package struct Records: Sendable, Hashable {
      /// The name of the type.
      package var type: String
      /// The number of records that only the second pack has.
      package var added = 0
      /// The number of records that only the first pack has.
      package var removed = 0
      /// The number of records that both have with different fields.
      package var changed = 0
      /// The ids of up to a hundred of them, added ones first.
      package var examples: [String] = []

      /// True if both packs have equal records of the type.
      package var isEmpty: Bool { added + removed + changed == 0 }
    }

    /// True if both packs have equal schemas. Otherwise records are compared in the types that both have.
    package var hasSameSchema: Bool
    /// The types that only one of the packs has.
    package var types: [String]
    /// The differences of each type that both packs have.
    package var records: [Records]
    /// The number of the second pack's files whose content the first pack has.
    package var sameFiles: Int
    /// True if the manifests are equal to the byte, and so all the files.
    package var isSame: Bool
  }
}

extension Pack {
  /// Returns the differences between this pack and `newer`. Skips files with equal contents, and needs a few bytes of
  /// memory for each record of others. Runs on the calling thread.
  package func difference(from newer: Pack) throws -> Pack.Difference {
    let (old, new) = (manifest, newer.manifest)
    let known = Set(old.files.map(\.sha256))
    let (mine, theirs) = (Set(old.schema.types.map(\.name)), Set(new.schema.types.map(\.name)))
    var difference = Pack.Difference(
      hasSameSchema: old.fingerprint == new.fingerprint, types: mine.symmetricDifference(theirs).sorted(),
      records: [], sameFiles: new.files.count { known.contains($0.sha256) }, isSame: old.digest == new.digest)
    for type in new.schema.types where mine.contains(type.name) {
      difference.records.append(try compare(type.name, with: newer))
    }
    return difference
  }

  private func compare(_ type: String, with newer: Pack) throws -> Pack.Difference.Records {
    let (mine, theirs) = (Set(files(of: type).map(\.sha256)), Set(newer.files(of: type).map(\.sha256)))
    var found = Pack.Difference.Records(type: type)
    var before = try marks(of: type) { !theirs.contains($0.sha256) }
    func note(_ id: String) { if found.examples.count < 100 { found.examples.append(id) } }
    var changed: [String] = []
    for (id, mark) in try newer.marks(of: type, where: { !mine.contains($0.sha256) }).sorted(by: {
      $0.key < $1.key
    }) {
      guard let old = before.removeValue(forKey: id) else {
        found.added += 1
        note(id)
        continue
      }
      if old != mark { changed.append(id) }
    }
    found.changed = changed.count
    found.removed = before.count
    (changed + before.keys.sorted()).forEach(note)
    return found
  }

  private func files(of type: String) -> [Pack.Manifest.File] {
    let isSplit = manifest.contents.contains { $0.type == type && $0.shardedBy != nil }
    return manifest.files.filter { $0.type == (isSplit ? type : nil) }
  }

  /// Returns a hash of each record of a type in the selected files, by its id.
  private func marks(of type: String, where isWanted: (Pack.Manifest.File) -> Bool) throws -> [String: Int] {
    var marks: [String: Int] = [:]
    let shape = try shapes.shape(named: type)
    for file in files(of: type) where isWanted(file) {
      let single = PackFile(file, of: manifest, in: folder.path, Pack.Options())
      try single.read { database in
        var query = AnyQuery(type)
        query.isUnordered = true
        try ReadTransaction(database, shape.catalog).forEach(query) { record in
          var mark = RowFingerprint()
          for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
            mark.combine(name)
            mark.combine(bytesOf: value)
          }
          marks[record.id] = mark.value
        }
      }
    }
    return marks
  }
}
