internal import Foundation
internal import HTTPTypes

/// The meaning of equal content of several resources.
///
/// Tiles of the sea have equal content, and so do the responses of a network that wants a sign-in first.
package enum RepeatedContent: Sendable, Hashable {
  /// Maps repeat it: a vector tile, features, or a picture of one color.
  case usual
  /// It differs from tile to tile: a picture that shows something, or a text.
  case strange
  /// Bytes of an unknown kind.
  case unknown

  init(_ fields: HTTPFields, _ body: Data) {
    switch ContentKind(fields, body) {
    case .vectorTile: self = .usual
    case .json: self = ContentKind.isMapData(body) ? .usual : .strange
    case .picture: self = PictureForm(body)?.isBlank(body) == true ? .usual : .strange
    case .page, .text: self = .strange
    case .data: self = .unknown
    }
  }
}

extension ReplacementCandidate {
  /// The meaning of this content if several resources have it.
  package var repeated: RepeatedContent { RepeatedContent(fields, body) }
}
