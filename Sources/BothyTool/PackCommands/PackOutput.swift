import BothyPacks
import BothyStore

/// What is shown of a pack.
enum PackOutput {
  /// The members of a manifest, its digest and its totals.
  static func write(_ manifest: PackManifest, to writer: inout JSONWriter) {
    for (name, value) in (manifest.json.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
      writer.member(name, value)
    }
    writer.member("digest", manifest.digest)
    writer.member("rows", manifest.rows)
    writer.member("bytes", manifest.bytes)
  }

  /// A line for each type with its fields.
  static func types(_ manifest: PackManifest) -> String {
    zip(manifest.contents, manifest.schema.types).map { content, type in
      let split = content.shardedBy.map { ", split by \($0)" } ?? ""
      let fields = type.fields.map { field in
        var text = "\(field.name) \(field.kind.name)"
        if field.isOptional { text += "?" }
        if field.isFullText { text += " full text" }
        if field.isIndexed { text += " indexed" }
        return text
      }
      return "\(type.name) (\(content.rows) rows\(split)): \(fields.joined(separator: ", "))"
    }.joined(separator: "\n")
  }
}
