/// A test that scripts a server names the messages of sync, which `import Bothy` does not show.
@_exported public import BothySync
