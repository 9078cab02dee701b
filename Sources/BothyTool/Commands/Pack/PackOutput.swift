import BothyPacks
import BothyStore

/// The printed description of a pack.
enum PackOutput {
  /// Returns a line for each type with its fields.
  static func types(_ manifest: Pack.Manifest) -> String {
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
